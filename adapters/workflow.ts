/** The state machine. */
import {
  DescribeExecutionCommand,
  paginateGetExecutionHistory,
  paginateListExecutions,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
  type ExecutionListItem,
  type HistoryEvent,
} from '@aws-sdk/client-sfn';
import { ConflictError, NotFoundError, RolloutError } from '../rollout/errors.ts';
import type { Execution, Workflow } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling } from './aws-errors.ts';

/** The most that one page of ListExecutions has. */
const PAGE = 1000;

export const stepFunctionsWorkflow = (stateMachineArn: string, connection?: AwsConnection): Workflow =>
  createWorkflow(new SFNClient(awsClient(connection)), stateMachineArn);

export function createWorkflow(client: SFNClient, stateMachineArn: string): Workflow {
  // An execution's ARN is its state machine's with the name at its end.
  const arnOf = (name: string): string =>
    `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
  return {
    start: async (name, rack) => {
      try {
        await calling('states:StartExecution', name, () =>
          client.send(new StartExecutionCommand({ stateMachineArn, name, input: JSON.stringify({ rack }) })),
        );
        return 'started';
      } catch (error) {
        // Same name and same input while it runs is no error to Step Functions; this is of one that ended.
        if (error instanceof ConflictError) return 'closed';
        throw error;
      }
    },
    running: () =>
      calling('states:ListExecutions', stateMachineArn, async () => {
        const found: Execution[] = [];
        const pages = paginateListExecutions(
          { client, pageSize: PAGE },
          { stateMachineArn, statusFilter: 'RUNNING' },
        );
        for await (const { executions = [] } of pages) found.push(...executions.map(execution));
        return found;
      }),
    answer: async (token, result) => {
      try {
        await calling('states:SendTaskSuccess', 'a task that waits', () =>
          client.send(new SendTaskSuccessCommand({ taskToken: token, output: JSON.stringify(result) })),
        );
        return 'answered';
      } catch (error) {
        if (error instanceof NotFoundError) return 'gone';
        throw error;
      }
    },
    answers: async (name) => {
      const found: unknown[] = [];
      try {
        await calling('states:GetExecutionHistory', name, async () => {
          const pages = paginateGetExecutionHistory(
            { client, pageSize: PAGE },
            { executionArn: arnOf(name), includeExecutionData: true },
          );
          for await (const { events = [] } of pages) found.push(...events.flatMap(answerIn));
        });
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
      }
      return found;
    },
    describe: async (name) => {
      try {
        return execution(
          await calling('states:DescribeExecution', name, () =>
            client.send(new DescribeExecutionCommand({ executionArn: arnOf(name) })),
          ),
        );
      } catch (error) {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      }
    },
  };
}

/** What SendTaskSuccess brought, where an event is of that. */
function answerIn({ taskSucceededEventDetails: details }: HistoryEvent): unknown[] {
  return details?.resource?.endsWith('.waitForTaskToken') === true
    ? [JSON.parse(details.output ?? 'null')]
    : [];
}

function execution({ name, startDate, stopDate, status }: Partial<ExecutionListItem>): Execution {
  if (name === undefined || startDate === undefined || status === undefined) {
    throw new RolloutError(`Step Functions' answer about ${String(name)} lacks its name, start or status`);
  }
  // A redrive is only ever pending for children of a Distributed Map, and then it is to run.
  return {
    name,
    startedAt: startDate.toISOString(),
    ...(stopDate !== undefined && { endedAt: stopDate.toISOString() }),
    status: status === 'PENDING_REDRIVE' ? 'RUNNING' : status,
  };
}
