import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    // Vitest leaves one core to itself, which is half of a small machine.
    maxWorkers: '100%',
    include: ['test/**/*.test.ts'],
    // They need more than Node or more time, and have commands of their own.
    exclude: ['test/aws/**', 'test/deployed/**', 'test/karpenter/**', 'test/package/**'],
    // .ci/run counts from the JSON.
    reporters: ['default', ['json', { outputFile: 'out/vitest.json' }]],
    coverage: {
      provider: 'v8',
      include: [
        'rollout/**/*.ts',
        'adapters/**/*.ts',
        'functions/**/*.ts',
        'simulator/**/*.ts',
        'cli/**/*.ts',
      ],
      reportsDirectory: 'coverage',
    },
  },
});
