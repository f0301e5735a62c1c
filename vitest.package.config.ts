import { defineConfig } from 'vitest/config';

/** `npm run test:package`: on what osls packages, which takes a while. */
export default defineConfig({
  test: {
    pool: 'forks',
    include: ['test/package/**/*.test.ts'],
    globalSetup: ['test/package/package.setup.ts'],
    reporters: ['default', ['json', { outputFile: 'out/vitest-package.json' }]],
    testTimeout: 60_000,
  },
});
