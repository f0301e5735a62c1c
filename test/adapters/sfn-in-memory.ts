/** As much of Step Functions as waits for a token take, behind a client of the SDK. */
import {
  GetExecutionHistoryCommand,
  SendTaskSuccessCommand,
  SFNClient,
  type HistoryEvent,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import { createWorkflow } from '../../adapters/workflow.ts';
import type { AnsweredSubject } from '../contract/workflow.ts';

const MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
const error = (name: string): Error => Object.assign(new Error('in words'), { name, $metadata: {} });

/** What an execution that waits has in its history already: another task, and the answer of the function itself. */
const before: HistoryEvent[] = [
  {
    id: 1,
    timestamp: new Date(),
    type: 'TaskSucceeded',
    taskSucceededEventDetails: { resourceType: 'lambda', resource: 'invoke', output: '{"Payload":{}}' },
  },
  {
    id: 2,
    timestamp: new Date(),
    type: 'TaskSubmitted',
    taskSubmittedEventDetails: { resourceType: 'lambda', resource: 'invoke.waitForTaskToken', output: '{}' },
  },
];

export async function answersInMemory(): Promise<AnsweredSubject> {
  const client = new SFNClient({ region: 'eu-west-1' });
  const mock = mockClient(client);
  const open = new Map<string, string>();
  const closed = new Set<string>();
  const histories = new Map<string, HistoryEvent[]>();
  mock
    .on(SendTaskSuccessCommand)
    .callsFake(({ taskToken, output }: { taskToken: string; output: string }) => {
      if (closed.has(taskToken)) throw error('TaskTimedOut');
      const name = open.get(taskToken);
      if (name === undefined) throw error('InvalidToken');
      open.delete(taskToken);
      closed.add(taskToken);
      histories.get(name)?.push({
        id: 3,
        timestamp: new Date(),
        type: 'TaskSucceeded',
        taskSucceededEventDetails: { resourceType: 'lambda', resource: 'invoke.waitForTaskToken', output },
      });
      return {};
    });
  // One event a page.
  mock.on(GetExecutionHistoryCommand).callsFake((input: { executionArn: string; nextToken?: string }) => {
    const events = histories.get(input.executionArn.split(':').at(-1) ?? '');
    if (events === undefined) throw error('ExecutionDoesNotExist');
    const place = Number(input.nextToken ?? 0);
    const isLast = place + 1 >= events.length;
    return { events: events.slice(place, place + 1), ...(!isLast && { nextToken: String(place + 1) }) };
  });
  return {
    port: createWorkflow(client, MACHINE),
    wait: async (name) => {
      const token = `token-of-${name}`;
      open.set(token, name);
      histories.set(name, [...before]);
      return token;
    },
    stop: async (name) => {
      const token = `token-of-${name}`;
      open.delete(token);
      closed.add(token);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
