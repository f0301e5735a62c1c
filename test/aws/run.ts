// `npm run test:aws`: the suites of the ports, and the real adapters with them, against moto on 127.0.0.1.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installMoto } from './install-moto.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

installMoto('test:aws');
const vitest = at('../../node_modules/vitest/vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', at('vitest.config.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
