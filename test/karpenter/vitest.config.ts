import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    pool: 'forks',
    include: ['test/karpenter/**/*.test.ts'],
    globalSetup: ['test/karpenter/setup.ts'],
    reporters: ['default', ['json', { outputFile: 'out/vitest-karpenter.json' }]],
    // One cluster for all: files take turns.
    fileParallelism: false,
    // Racks side by side mostly wait for Karpenter; more of them, and their nodes queue: it takes one in a pass.
    maxConcurrency: 10,
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
  },
});
