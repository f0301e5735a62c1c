import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    pool: 'forks',
    include: ['test/karpenter/**/*.test.ts'],
    globalSetup: ['test/karpenter/setup.ts'],
    // One cluster for all: files take turns.
    fileParallelism: false,
    testTimeout: 30_000,
  },
});
