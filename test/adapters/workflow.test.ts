import {
  DescribeExecutionCommand,
  ListExecutionsCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createWorkflow } from '../../adapters/workflow.ts';

const stateMachineArn = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
const client = new SFNClient({ region: 'eu-west-1' });
const sfn = mockClient(client);
afterEach(() => sfn.reset());
const workflow = createWorkflow(client, stateMachineArn);

const startDate = new Date('2026-03-02T09:00:00.123Z');
const listed = (name: string) => ({
  name,
  startDate,
  status: 'RUNNING' as const,
  stateMachineArn,
  executionArn: 'x',
});
const failure = (name: string): Error => Object.assign(new Error('words'), { name, $metadata: {} });

describe('the workflow', () => {
  it('is started by name with nothing but the rack', async () => {
    sfn.on(StartExecutionCommand).resolves({});
    expect(await workflow.start('demo-1', 'demo')).toBe('started');
    expect(sfn).toHaveReceivedCommandExactlyOnceWith(StartExecutionCommand, {
      stateMachineArn,
      name: 'demo-1',
      input: '{"rack":"demo"}',
    });
  });

  it('says that a name is used up, and nothing else in its place', async () => {
    sfn
      .on(StartExecutionCommand)
      .rejectsOnce(failure('ExecutionAlreadyExists'))
      .rejects(failure('StateMachineDoesNotExist'));
    expect(await workflow.start('demo-1', 'demo')).toBe('closed');
    await expect(workflow.start('demo-1', 'demo')).rejects.toThrow(
      expect.objectContaining({ name: 'NotFoundError' }),
    );
  });

  it('lists what runs to the last page', async () => {
    sfn
      .on(ListExecutionsCommand, { stateMachineArn, statusFilter: 'RUNNING' })
      .resolvesOnce({ executions: [listed('demo-1')], nextToken: 'more' })
      .resolvesOnce({ executions: [listed('demo-2')] });
    expect(await workflow.running()).toEqual([
      { name: 'demo-1', startedAt: '2026-03-02T09:00:00.123Z', status: 'RUNNING' },
      { name: 'demo-2', startedAt: '2026-03-02T09:00:00.123Z', status: 'RUNNING' },
    ]);
  });

  it('describes an execution, and knows none that never was', async () => {
    sfn
      .on(DescribeExecutionCommand, {
        executionArn: 'arn:aws:states:eu-west-1:123456789012:execution:imds-rollout:demo-1',
      })
      .resolvesOnce({ name: 'demo-1', startDate, status: 'ABORTED' });
    expect(await workflow.describe('demo-1')).toEqual({
      name: 'demo-1',
      startedAt: '2026-03-02T09:00:00.123Z',
      status: 'ABORTED',
    });
    sfn.on(DescribeExecutionCommand).rejects(failure('ExecutionDoesNotExist'));
    expect(await workflow.describe('demo-2')).toBeUndefined();
  });
});
