/** The simulator's errors are what the adapters make of the same answers: scenarios name them by the APIs' own codes. */
import { describe, expect, it } from 'vitest';
import { calling } from '../../adapters/aws-errors.ts';
import { KubernetesStatus, translated } from '../../adapters/cluster/errors.ts';
import { apiError } from '../../simulator/account/api-errors.ts';

describe("the simulator's errors", () => {
  it.each([
    'AccessDenied',
    'AccessDeniedException',
    'AuthFailure',
    'ConflictException',
    'EC2ThrottledException',
    'ExecutionAlreadyExists',
    'ExecutionDoesNotExist',
    'ExpiredTokenException',
    'HeardOfByNobody',
    'IncorrectInstanceState',
    'InternalError',
    'InternalFailure',
    'InternalServerError',
    'InvalidInstanceID.Malformed',
    'InvalidInstanceID.NotFound',
    'InvalidName',
    'InvalidParameterValue',
    'NoSuchBucket',
    'NoSuchKey',
    'ParameterNotFound',
    'RequestLimitExceeded',
    'RequestTimeout',
    'ResourceNotFoundException',
    'ServerInternal',
    'ServiceUnavailable',
    'ServiceUnavailableException',
    'SlowDown',
    'StateMachineDoesNotExist',
    'Throttling',
    'ThrottlingException',
    'TimeoutError',
    'TooManyRequestsException',
    'TooManyUpdates',
    'UnauthorizedOperation',
    'Unavailable',
    'UnrecognizedClientException',
    'UnsupportedOperation',
    'ValidationException',
  ])("make of AWS's %s what the adapters make of it", async (code) => {
    const own = Object.assign(new Error('words'), { name: code, $metadata: { httpStatusCode: 400 } });
    const adapted: unknown = await calling('ssm:GetParameter', 'a', () => Promise.reject(own)).catch(
      (error: unknown) => error,
    );
    const { name, message, cause } = apiError(code, 'words');
    expect(adapted).toMatchObject({ name, cause: { name: (cause as Error).name } });
    expect(message).toContain(`${code}: words`);
  });

  it.each([
    [400, 'BadRequest'],
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [409, 'AlreadyExists'],
    [410, 'Expired'],
    [422, 'Invalid'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
    [504, 'ServerTimeout'],
  ])("make of Kubernetes' %i %s what the adapters make of it", (code, reason) => {
    const status = new KubernetesStatus(code, JSON.stringify({ reason, message: 'words' }));
    const adapted = translated(status, { cluster: 'demo', verb: 'get', resource: 'nodes' });
    expect(adapted).toMatchObject({ name: apiError(reason, 'words').name, cause: { name: reason } });
    expect(adapted).toMatchObject({ name: apiError(`Http${String(code)}`, 'words').name });
  });
});
