// `npm start [-- FILE [options]]`: plays a scenario in the live view, the default one when no file is named.
import { spawnSync } from 'node:child_process';

const args = process.argv.slice(2);
const file = args[0]?.startsWith('-') === false ? args.shift() : undefined;
const run = spawnSync(
  process.execPath,
  ['cli/main.ts', 'simulate', file ?? 'test/scenarios/default.yaml', '--watch', ...args],
  { stdio: 'inherit' },
);
process.exitCode = run.status ?? 1;
