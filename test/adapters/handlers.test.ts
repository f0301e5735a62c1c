import { globSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseEnvironment, rolloutEnvironment } from '../../functions/shared/environment.ts';

const environment = {
  PARAMETER_PREFIX: '/racks/',
  RECORD_PREFIX: '/imds-rollout/racks/',
  STATE_MACHINE_ARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout',
  REPORT_BUCKET: 'evidence',
  TOKEN_PREFIX: '/imds-rollout/approval-tokens/',
};
const folders = (file: string): string[] =>
  globSync(`functions/*/${file}`).map((path) => path.split('/')[1] ?? '');

describe('the functions as deployed', () => {
  beforeEach(() => {
    for (const [name, value] of Object.entries({ ...environment, AWS_REGION: 'eu-west-1' }))
      vi.stubEnv(name, value);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('have a handler each', () => {
    expect(folders('handler.ts')).toEqual(folders('create-handler.ts'));
  });

  it.each(folders('handler.ts'))('%s is built from its environment', async (folder) => {
    const { handler } = (await import(`../../functions/${folder}/handler.ts`)) as { handler: unknown };
    expect(typeof handler).toBe('function');
  });
});

describe('their environment', () => {
  it.each([
    ['PARAMETER_PREFIX', 'racks'],
    ['RECORD_PREFIX', '/imds-rollout'],
    ['STATE_MACHINE_ARN', 'imds-rollout'],
    ['REPORT_BUCKET', ''],
    ['REPORT_BUCKET', undefined],
  ])('is refused by name where %s is %j', (name, value) => {
    expect(() => parseEnvironment(rolloutEnvironment, { ...environment, [name]: value })).toThrow(
      expect.objectContaining({
        name: 'EnvironmentError',
        message: expect.stringMatching(new RegExp(`${name} is .*: `)) as string,
      }),
    );
  });
});
