/**
 * Step Functions' API over HTTP on executions that run in this process: what the product and its command ask for, and
 * nothing else. Of an execution's history it has the last state entered and what the steps handed on last.
 */
import { createServer } from 'node:http';
import type { Workflow } from '../../rollout/ports.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import { close, listen, textOf } from './http.ts';

export interface StepFunctionsApi extends AsyncDisposable {
  /** For AWS_ENDPOINT_URL_SFN. */
  endpoint: string;
}

export interface Played {
  stateMachineArn: string;
  executions: readonly ExecutionRecord[];
  workflow: Pick<Workflow, 'start'>;
}

type Request = Record<string, unknown>;

/** Of the API's own: what it answers with a 400. */
class Refused extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

export async function serveStepFunctions(played: Played): Promise<StepFunctionsApi> {
  const server = createServer((request, response) => {
    const say = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
    };
    const action = String(request.headers['x-amz-target']).replace('AWSStepFunctions.', '');
    textOf(request)
      .then((text) => answer(played, action, JSON.parse(text) as Request))
      .then(
        (body) => {
          say(200, body);
        },
        (error: unknown) => {
          if (error instanceof Refused) say(400, { __type: error.type, message: error.message });
          else say(500, { __type: 'InternalFailure', message: String(error) });
        },
      );
  });
  return {
    endpoint: `http://127.0.0.1:${await listen(server)}`,
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function answer(played: Played, action: string, request: Request): Promise<object> {
  const { stateMachineArn, executions } = played;
  const textOfKey = (key: string): string => {
    const value = request[key];
    return typeof value === 'string' ? value : '';
  };
  if ((request['stateMachineArn'] ?? stateMachineArn) !== stateMachineArn)
    throw new Refused('StateMachineDoesNotExist', textOfKey('stateMachineArn'));
  const arnOf = (name: string): string =>
    `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
  const summary = ({ name, startedAt, endedAt, status }: ExecutionRecord) => ({
    executionArn: arnOf(name),
    stateMachineArn,
    name,
    status,
    startDate: seconds(startedAt),
    ...(endedAt !== undefined && { stopDate: seconds(endedAt) }),
  });
  const named = (): ExecutionRecord => {
    const arn = textOfKey('executionArn');
    const found = executions.find(({ name }) => arnOf(name) === arn);
    if (found === undefined) throw new Refused('ExecutionDoesNotExist', arn);
    return found;
  };
  switch (action) {
    case 'StartExecution': {
      const { rack } = JSON.parse(textOfKey('input')) as { rack: string };
      const name = textOfKey('name');
      if ((await played.workflow.start(name, rack)) === 'closed')
        throw new Refused('ExecutionAlreadyExists', name);
      return { executionArn: arnOf(name), startDate: seconds(new Date()) };
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
      throw new Refused('UnknownOperationException', `${action} is not played here`);
  }
}

/** As its JSON has times: seconds since 1970, with milliseconds behind the point. */
const seconds = (at: Date): number => at.getTime() / 1000;

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
