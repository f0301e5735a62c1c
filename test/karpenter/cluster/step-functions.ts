/**
 * Step Functions' API on the executions of a running product, for the command line: what it asks for and nothing
 * else. Of an execution's history it has the last state entered and what the steps handed on last.
 */
import { executionArn, stateMachineArn } from '../../../simulator/account/names.ts';
import type { ExecutionRecord } from '../../../simulator/account/execution.ts';
import { StepFunctionsError } from '../neighbours.ts';
import type { SteeredProduct } from '../product.ts';

type Request = Record<string, unknown>;

/** `action` is the last part of the header X-Amz-Target. */
export async function answerStepFunctions(
  product: SteeredProduct,
  action: string,
  request: Request,
): Promise<object> {
  const { executions, ports } = product;
  const textOf = (key: string): string => {
    const value = request[key];
    return typeof value === 'string' ? value : '';
  };
  const named = (): ExecutionRecord => {
    const arn = textOf('executionArn');
    const found = executions.find(({ name }) => executionArn(name) === arn);
    if (found === undefined) throw new StepFunctionsError(`ExecutionDoesNotExist: ${arn}`);
    return found;
  };
  switch (action) {
    case 'StartExecution': {
      const { rack } = JSON.parse(textOf('input')) as { rack: string };
      const name = textOf('name');
      const started = await ports.workflow.start(name, rack);
      if (started === 'closed') throw new StepFunctionsError(`ExecutionAlreadyExists: ${name}`);
      return { executionArn: executionArn(name), startDate: seconds(new Date()) };
    }
    case 'ListExecutions': {
      const status = request['statusFilter'];
      return {
        executions: executions.filter((one) => status === undefined || one.status === status).map(summary),
      };
    }
    case 'DescribeExecution':
      return { ...summary(named()), input: JSON.stringify(named().input) };
    case 'GetExecutionHistory':
      return { events: historyOf(named()) };
    default:
      throw new StepFunctionsError(`UnknownOperationException: ${action} is not played here`);
  }
}

const seconds = (at: Date): number => at.getTime() / 1000;

const summary = ({ name, startedAt, endedAt, status }: ExecutionRecord) => ({
  executionArn: executionArn(name),
  stateMachineArn,
  name,
  status,
  startDate: seconds(startedAt),
  ...(endedAt !== undefined && { stopDate: seconds(endedAt) }),
});

/** Newest first, as the command asks for it. */
const historyOf = ({ state = '', payload, startedAt }: ExecutionRecord) => [
  {
    id: 2,
    timestamp: seconds(startedAt),
    type: 'TaskStateEntered',
    stateEnteredEventDetails: { name: state },
  },
  {
    id: 1,
    timestamp: seconds(startedAt),
    type: 'TaskStateExited',
    stateExitedEventDetails: { name: state, output: JSON.stringify(payload) },
  },
];
