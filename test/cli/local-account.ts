/**
 * An account on 127.0.0.1 for the command as a child process: CloudFormation, Parameter Store, Step Functions, EventBridge
 * and Lambda, as much of each as approve and reject take. The function behind it is the real one on the real adapters,
 * and STS checks signatures.
 */
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { Context } from 'aws-lambda';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createApprovals } from '../../adapters/approvals.ts';
import { systemClock } from '../../adapters/clock.ts';
import { createNotices } from '../../adapters/notices.ts';
import { createRecords } from '../../adapters/records.ts';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';
import { createWorkflow } from '../../adapters/workflow.ts';
import { createHandler } from '../../functions/approve/create-handler.ts';
import { checkingSts } from '../adapters/checking-sts.ts';

const REGION = 'eu-west-1';
const MACHINE = `arn:aws:states:${REGION}:123456789012:stateMachine:imds-rollout`;
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const outputs = {
  StateMachineArn: MACHINE,
  ApproveFunction: 'imds-rollout-approve',
  ReportBucket: 'reports',
  ParameterPrefix: '/racks/',
  RecordPrefix: '/imds-rollout/racks/',
  TokenPrefix: '/imds-rollout/approval-tokens/',
  Clusters: '*',
  ReadingRoles: 'arn:aws:iam::123456789012:role/reads',
  WritingRoles: 'arn:aws:iam::123456789012:role/writes',
};

type Fields = Record<string, string>;

export class LocalAccount implements AsyncDisposable {
  /** Parameters by name. */
  readonly stored = new Map<string, string>();
  /** Executions by name: the state, the token of the wait while it waits, and what it was answered. */
  readonly executions = new Map<string, { status: string; token?: string; answers: string[] }>();
  readonly notices: Fields[] = [];
  /** Every call, e.g. `AmazonSSM.GetParameter`. */
  readonly calls: string[] = [];
  /** What the function throws in the place of its work. */
  fault: { errorType: string; errorMessage: string } | undefined;
  /** What else the account answers, where it answers at all. */
  besides: (target: string, body: string) => object | string | undefined = () => undefined;

  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async open(): Promise<LocalAccount> {
    const account = new LocalAccount();
    await new Promise<void>((resolve) => account.#server.listen(0, '127.0.0.1', resolve));
    return account;
  }

  get #endpoint(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Nothing of whoever runs this. */
  get environment(): Fields {
    return {
      AWS_ENDPOINT_URL: this.#endpoint,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      AWS_EC2_METADATA_DISABLED: 'true',
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const target = String(request.headers['x-amz-target'] ?? request.url);
    this.calls.push(target);
    try {
      const [answer, headers] = await this.#answer(target, body);
      response.writeHead(200, headers).end(answer);
    } catch (error) {
      const code = error instanceof Error ? error.message : 'InternalFailure';
      response
        .writeHead(400, { 'x-amzn-errortype': code })
        .end(JSON.stringify({ __type: code, message: 'in words' }));
    }
  }

  async #answer(target: string, body: string): Promise<[string, Fields]> {
    const other = this.besides(target, body);
    if (typeof other === 'string') return [other, { 'content-type': 'text/xml' }];
    if (other !== undefined) return [JSON.stringify(other), { 'content-type': 'application/json' }];
    if (target.startsWith('/2015-03-31/functions/')) return this.#invoke(body);
    if (target === '/') return [stackXml(), { 'content-type': 'text/xml' }];
    const answer = this.#json(target, JSON.parse(body) as Fields & { Entries?: Fields[] });
    return [JSON.stringify(answer), { 'content-type': 'application/x-amz-json-1.1' }];
  }

  #json(target: string, given: Fields & { Entries?: Fields[] }): object {
    const { Name = '', Path = '', Value = '', taskToken, executionArn = '' } = given;
    const name = executionArn.split(':').at(-1) ?? '';
    switch (target) {
      case 'AmazonSSM.GetParameter': {
        const found = this.stored.get(Name);
        if (found === undefined) throw new Error('ParameterNotFound');
        return { Parameter: { Name, Value: found } };
      }
      case 'AmazonSSM.GetParametersByPath':
        return {
          Parameters: [...this.stored]
            .filter(([each]) => each.startsWith(`${Path}/`))
            .map(([each, value]) => ({ Name: each, Value: value })),
        };
      case 'AmazonSSM.PutParameter':
        this.stored.set(Name, Value);
        return { Version: 1 };
      case 'AmazonSSM.DeleteParameter':
        if (!this.stored.delete(Name)) throw new Error('ParameterNotFound');
        return {};
      case 'AWSStepFunctions.DescribeExecution': {
        const found = this.executions.get(name);
        if (found === undefined) throw new Error('ExecutionDoesNotExist');
        return { executionArn, name, status: found.status, startDate: 1772442000 };
      }
      case 'AWSStepFunctions.SendTaskSuccess': {
        const found = [...this.executions.values()].find(({ token }) => token === taskToken);
        if (found === undefined) throw new Error('TaskTimedOut');
        delete found.token;
        found.answers.push(given['output'] ?? '');
        return {};
      }
      case 'AWSStepFunctions.GetExecutionHistory':
        return {
          events: (this.executions.get(name)?.answers ?? []).map((output, id) => ({
            id,
            timestamp: 1772442000,
            type: 'TaskSucceeded',
            taskSucceededEventDetails: {
              resourceType: 'lambda',
              resource: 'invoke.waitForTaskToken',
              output,
            },
          })),
        };
      case 'AWSEvents.PutEvents':
        this.notices.push(...(given.Entries ?? []));
        return { FailedEntryCount: 0, Entries: [{ EventId: 'x' }] };
      default:
        throw new Error(`UnknownOperation ${target}`);
    }
  }

  async #invoke(body: string): Promise<[string, Fields]> {
    const failed: Fields = { 'x-amz-function-error': 'Unhandled' };
    if (this.fault !== undefined) return [JSON.stringify(this.fault), failed];
    try {
      const answer = await this.#function()(JSON.parse(body), { functionName: 'approve' } as Context);
      return [JSON.stringify(answer), {}];
    } catch (error) {
      const { name, message } = error as Error;
      return [JSON.stringify({ errorType: name, errorMessage: message }), failed];
    }
  }

  #function(): ReturnType<typeof createHandler> {
    const connection = { region: REGION, endpoint: this.#endpoint, credentials, maxAttempts: 1 };
    const ssm = new SSMClient(connection);
    const { RecordPrefix, TokenPrefix } = outputs;
    return createHandler({
      clock: systemClock,
      records: createRecords(ssm, RecordPrefix),
      approvals: createApprovals(ssm, RecordPrefix),
      waitTokens: createWaitTokens(ssm, TokenPrefix, RecordPrefix),
      identities: checkingSts({ machine: MACHINE, region: REGION, credentials, clock: systemClock }),
      workflow: createWorkflow(new SFNClient(connection), MACHINE),
      notices: createNotices(new EventBridgeClient(connection)),
    });
  }
}

const stackXml = (): string => {
  const members = Object.entries(outputs).map(
    ([name, value]) => `<member><OutputKey>${name}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>imds-rollout</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-03-02T09:00:00Z</CreationTime><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
};
