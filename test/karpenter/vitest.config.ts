import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const common = {
  root: fileURLToPath(new URL('../..', import.meta.url)),
  pool: 'forks',
  testTimeout: 30_000,
  env: {
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: 'eu-west-1',
    AWS_EC2_METADATA_DISABLED: 'true',
    // Nobody reads the functions' logs; what a rollout came to is in its execution.
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_METRICS_DISABLED: 'true',
    POWERTOOLS_TRACE_ENABLED: 'false',
  },
} as const;

/** Each starts a control plane and a Karpenter of its own, and mostly waits for them. */
const worlds = ['rollouts', 'obstacles', 'both', 'away', 'cluster'].map(
  (name) => `test/karpenter/${name}.test.ts`,
);

export default defineConfig({
  test: {
    root: common.root,
    reporters: ['default', ['json', { outputFile: 'out/vitest-karpenter.json' }]],
    projects: [
      {
        test: {
          ...common,
          name: 'worlds',
          include: worlds,
          maxWorkers: worlds.length,
          // Racks side by side: all of a world.
          maxConcurrency: 20,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'api-server',
          include: ['test/karpenter/**/*.test.ts'],
          exclude: worlds,
          globalSetup: ['test/karpenter/setup.ts'],
          // One API server for all: files take turns.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
