// `npm run test:karpenter`: the suite of the port Cluster, RBAC and the admission policy on a real kube-apiserver with
// Karpenter's own CRDs, and whole rollouts on a real Karpenter.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildAll } from './build.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const vitest = at('../../node_modules/vitest/vitest.mjs');

const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', at('vitest.config.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, ...buildAll('test:karpenter') } },
);
process.exit(status ?? 1);
