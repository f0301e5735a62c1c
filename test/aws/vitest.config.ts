import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('../..', import.meta.url));
const env = {
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_REGION: 'eu-west-1',
  AWS_EC2_METADATA_DISABLED: 'true',
};

export default defineConfig({
  test: {
    root,
    reporters: ['default', ['json', { outputFile: 'out/vitest-aws.json' }]],
    // One after the other: the second has time to keep.
    projects: [
      {
        test: {
          name: 'moto',
          root,
          pool: 'forks',
          include: ['test/aws/**/*.test.ts'],
          globalSetup: ['test/aws/moto.ts'],
          env,
          // moto starts an instance in a second or two while other things run.
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'deployed',
          root,
          pool: 'forks',
          include: ['test/deployed/**/*.test.ts'],
          env,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
