import { describe, expect, it } from 'vitest';
import { calling } from '../../adapters/aws-errors.ts';
import { ConflictError, RolloutError } from '../../rollout/errors.ts';

const failure = (name: string, message = 'its own words', more: object = {}): Error =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode: 400 }, ...more });

const translate = (error: unknown): Promise<unknown> =>
  calling('ssm:GetParameter', '/racks/demo/a', () => Promise.reject(error as Error)).catch(
    (caught: unknown) => caught,
  );

describe("AWS's errors", () => {
  it.each([
    ['ThrottlingException', 'TransientError'],
    ['Throttling', 'TransientError'],
    ['EC2ThrottledException', 'TransientError'],
    ['RequestLimitExceeded', 'TransientError'],
    ['TooManyRequestsException', 'TransientError'],
    ['TooManyUpdates', 'TransientError'],
    ['SlowDown', 'TransientError'],
    ['TimeoutError', 'TransientError'],
    ['RequestTimeout', 'TransientError'],
    ['InternalServerError', 'TransientError'],
    ['InternalError', 'TransientError'],
    ['InternalFailure', 'TransientError'],
    ['ServiceUnavailable', 'TransientError'],
    ['ServiceUnavailableException', 'TransientError'],
    ['Unavailable', 'TransientError'],
    ['AccessDenied', 'ForbiddenError'],
    ['AccessDeniedException', 'ForbiddenError'],
    ['UnauthorizedOperation', 'ForbiddenError'],
    ['ExpiredTokenException', 'ForbiddenError'],
    ['UnrecognizedClientException', 'ForbiddenError'],
    ['CredentialsProviderError', 'ForbiddenError'],
    ['ParameterNotFound', 'NotFoundError'],
    ['InvalidInstanceID.NotFound', 'NotFoundError'],
    ['IncorrectInstanceState', 'NotFoundError'],
    ['ResourceNotFoundException', 'NotFoundError'],
    ['ExecutionDoesNotExist', 'NotFoundError'],
    ['NoSuchBucket', 'NotFoundError'],
    ['ExecutionAlreadyExists', 'ConflictError'],
    ['UnsupportedOperation', 'InvalidError'],
    ['InvalidInstanceID.Malformed', 'InvalidError'],
    ['InvalidParameterValue', 'InvalidError'],
    ['ValidationException', 'InvalidError'],
    ['ParameterMaxVersionLimitExceeded', 'InvalidError'],
    ['HeardOfByNobody', 'RolloutError'],
  ])('%s is a %s with the original as its cause', async (name, expected) => {
    const original = failure(name);
    const error = await translate(original);
    expect(error).toBeInstanceOf(RolloutError);
    expect(error).toMatchObject({ name: expected, cause: original });
    expect((error as Error).message).toContain('ssm:GetParameter of /racks/demo/a');
    expect((error as Error).message).toContain(`${name}: its own words`);
  });

  it.each([500, 502, 503, 429])('an unknown name with status %i is transient', async (httpStatusCode) => {
    expect(await translate(failure('Odd', '', { $metadata: { httpStatusCode } }))).toMatchObject({
      name: 'TransientError',
    });
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT'])(
    'a connection that failed with %s is transient',
    async (code) => {
      const original = Object.assign(new Error('connection'), { code });
      expect(await translate(original)).toMatchObject({ name: 'TransientError', cause: original });
    },
  );

  it('name the role and the action that it lacks', async () => {
    const message =
      'You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/rollout-observe/fn' +
      ' is not authorized to perform: ec2:DescribeInstances because no identity-based policy allows the' +
      ' ec2:DescribeInstances action. Encoded authorization failure message: abc123';
    const error = (await translate(failure('UnauthorizedOperation', message))) as Error;
    expect(error.message).toMatch(/^role rollout-observe may not ec2:DescribeInstances/);
    expect(error.message).toContain('because no identity-based policy allows');
    expect(error.message).not.toContain('abc123');
  });

  it('name a user as AWS does', async () => {
    const message =
      'User: arn:aws:iam::123456789012:user/ann is not authorized to perform: ssm:GetParameter on resource: x';
    const error = (await translate(failure('AccessDeniedException', message))) as Error;
    expect(error.message).toMatch(/^arn:aws:iam::123456789012:user\/ann may not ssm:GetParameter/);
  });

  it('leave mistakes of our own, and errors of ours, as they are', async () => {
    for (const original of [new TypeError('x is undefined'), new ConflictError('ours'), 'text']) {
      expect(await translate(original)).toBe(original);
    }
  });
});
