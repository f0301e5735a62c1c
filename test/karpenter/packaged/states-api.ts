/** Step Functions' API over HTTP, as far as the product calls it, on executions that run in this process. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Execution, Workflow } from '../../../rollout/ports.ts';

export interface StatesApi extends AsyncDisposable {
  /** For AWS_ENDPOINT_URL_SFN. */
  endpoint: string;
}

interface Asked {
  stateMachineArn?: string;
  executionArn?: string;
  name?: string;
  input?: string;
}

interface Answer {
  status?: number;
  body: object;
}

export async function startStatesApi(stateMachineArn: string, workflow: Workflow): Promise<StatesApi> {
  const prefix = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:`;
  const described = ({ name, startedAt, endedAt, status }: Execution) => ({
    executionArn: `${prefix}${name}`,
    stateMachineArn,
    name,
    status,
    startDate: seconds(startedAt),
    ...(endedAt !== undefined && { stopDate: seconds(endedAt) }),
  });

  const answer = async (action: string, asked: Asked): Promise<Answer> => {
    if (asked.stateMachineArn !== undefined && asked.stateMachineArn !== stateMachineArn)
      return refused('StateMachineDoesNotExist', asked.stateMachineArn);
    switch (action) {
      case 'StartExecution': {
        const { name = '', input = '{}' } = asked;
        const { rack } = JSON.parse(input) as { rack: string };
        if ((await workflow.start(name, rack)) === 'closed') return refused('ExecutionAlreadyExists', name);
        return { body: { executionArn: `${prefix}${name}`, startDate: seconds(new Date().toISOString()) } };
      }
      case 'ListExecutions':
        return { body: { executions: (await workflow.running()).map(described) } };
      case 'DescribeExecution': {
        const found = await workflow.describe((asked.executionArn ?? '').slice(prefix.length));
        return found === undefined
          ? refused('ExecutionDoesNotExist', asked.executionArn ?? '')
          : { body: described(found) };
      }
      default:
        return refused('UnknownOperationException', action);
    }
  };

  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      const action = String(request.headers['x-amz-target']).replace('AWSStepFunctions.', '');
      void answer(action, JSON.parse(text) as Asked).then(({ status = 200, body }) => {
        response
          .writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
          .end(JSON.stringify(body));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** As its JSON has times: seconds since 1970, with milliseconds behind the point. */
const seconds = (instant: string): number => new Date(instant).getTime() / 1000;

const refused = (type: string, message: string): Answer => ({ status: 400, body: { __type: type, message } });
