/** What the suites of the ports do not reach: errors as a server sends them, not as a test makes them. */
import { EKSClient } from '@aws-sdk/client-eks';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SSMClient } from '@aws-sdk/client-ssm';
import { describe, expect, inject, it } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { systemClock } from '../../adapters/clock.ts';
import { createClusters } from '../../adapters/cluster/clusters.ts';
import { createParameters } from '../../adapters/parameters.ts';
import { createReports } from '../../adapters/reports.ts';
import { createWorkflow } from '../../adapters/workflow.ts';

const connection = () => ({ ...awsClient(), endpoint: inject('moto') });
const named = (name: string, cause: string) =>
  expect.objectContaining({ name, cause: expect.objectContaining({ name: cause }) as Error }) as Error;

describe("the SDK's errors", () => {
  it('of a cluster that is not there', async () => {
    const clusters = createClusters(new EKSClient(connection()), systemClock);
    await expect(clusters.connect('nowhere')).rejects.toThrow(
      named('NotFoundError', 'ResourceNotFoundException'),
    );
  });

  it('of a bucket that is not there, which is not a report that is not there', async () => {
    const reports = createReports(new S3Client(connection()), 'no-such-bucket-here');
    await expect(reports.get('a')).rejects.toThrow(named('NotFoundError', 'NoSuchBucket'));
    await expect(reports.list('')).rejects.toThrow(named('NotFoundError', 'NoSuchBucket'));
  });

  it('of a state machine that is not there, which is not an execution that is not there', async () => {
    const arn = 'arn:aws:states:eu-west-1:123456789012:stateMachine:nowhere';
    const workflow = createWorkflow(new SFNClient(connection()), arn);
    await expect(workflow.start('demo-1', 'demo')).rejects.toThrow(
      named('NotFoundError', 'StateMachineDoesNotExist'),
    );
  });

  it('of a neighbour that cannot be reached', async () => {
    const parameters = createParameters(
      // Nothing listens on the discard port.
      new SSMClient({ ...connection(), endpoint: 'http://127.0.0.1:9', maxAttempts: 1 }),
      '/racks/',
    );
    await expect(parameters.list('demo')).rejects.toThrow(
      expect.objectContaining({
        name: 'TransientError',
        message: expect.stringContaining('/racks/demo') as string,
      }),
    );
  });
});
