import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    // .ci/run counts from the JSON.
    reporters: ['default', ['json', { outputFile: 'out/vitest.json' }]],
    coverage: {
      provider: 'v8',
      include: ['rollout/**/*.ts', 'functions/**/*.ts', 'simulator/**/*.ts', 'cli/**/*.ts'],
      reportsDirectory: 'coverage',
    },
  },
});
