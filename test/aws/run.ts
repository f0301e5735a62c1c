// `npm run test:aws`: the suites of the ports, and the real adapters with them, against moto; then the stack as it is
// deployed, on ministack, with a real Karpenter. Everything listens on 127.0.0.1.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildAll } from '../karpenter/build.ts';
import { installMinistack } from './python.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const lane = 'test:aws';
const vitest = at('../../node_modules/vitest/vitest.mjs');

const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', at('vitest.config.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, ...buildAll(lane), MINISTACK: installMinistack(lane) } },
);
process.exit(status ?? 1);
