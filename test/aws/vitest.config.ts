import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    pool: 'forks',
    include: ['test/aws/**/*.test.ts'],
    globalSetup: ['test/aws/moto.ts'],
    reporters: ['default', ['json', { outputFile: 'out/vitest-aws.json' }]],
    env: {
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_REGION: 'eu-west-1',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    // moto starts an instance in a second or two while other things run.
    testTimeout: 30_000,
  },
});
