/**
 * The product on the real neighbours, in real time: its handlers, its ports and its workflow. The workflow is run in
 * this process, so that one of its ports is not the deployed one; packaged.ts has all of them as they are deployed.
 */
import { SSMClient } from '@aws-sdk/client-ssm';
import { cloudWatchMetrics } from '../../adapters/metadata-metrics.ts';
import { createIdentities } from '../../adapters/identities.ts';
import { ec2Instances } from '../../adapters/instances.ts';
import { busNotices } from '../../adapters/notices.ts';

import { rolloutPorts, type RolloutSettings } from '../../adapters/rollout-ports.ts';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';
import type { Notice, Notices, Ports } from '../../rollout/ports.ts';
import { parameterStoreChange } from '../../simulator/account/events.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import type { Handler, Lambda } from '../../simulator/account/lambda.ts';
import { stateMachineArn } from '../../simulator/account/names.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { BUCKET } from './account.ts';
import { behindANetwork } from './latency.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from './runtime.ts';

export const PARAMETER_PREFIX = '/racks/';

export interface RunningProduct {
  settings: RolloutSettings;
  /** For who looks at what it wrote. */
  ports: Pick<Ports, 'records' | 'reports'>;
  executions: readonly ExecutionRecord[];
  /** Parameter Store's event, which reaches `parameter-changed`. */
  changed(name: string, operation: 'Create' | 'Update' | 'Delete'): Promise<void>;
  /** The schedule's event, which reaches `reconcile`. */
  reconcile(): Promise<unknown>;
}

/** One that runs in this process, where more can be done to it. */
export interface SteeredProduct extends RunningProduct {
  /** StopExecution, by hand. */
  stop(execution: string): void;
  /** The function's next invocation dies, without having begun or with all that it did. */
  crashNext: Lambda['crashNext'];
  /** The product's own clock is so much later from now on: what it waits for by the clock is over sooner. */
  putForward(milliseconds: number): void;
  ports: Ports;
  events: Runtime['events'];
  /** Every notice that was sent, after EventBridge has taken it. */
  notices: readonly SentNotice[];
  /** Called at the start and at the end of each execution. */
  onStatus(listener: (execution: ExecutionRecord) => void): void;
}

type SentNotice = Notice & { at: Date };

/** `installation` keeps its racks to itself, as a second deployment in the account would: others never visit them. */
export async function startProduct(
  installation = 'imds-rollout',
  { callTakesMs = 0, ...options }: RuntimeOptions & { callTakesMs?: number } = {},
): Promise<SteeredProduct> {
  const settings = {
    PARAMETER_PREFIX,
    RECORD_PREFIX: `/${installation}/racks/`,
    STATE_MACHINE_ARN: stateMachineArn,
    REPORT_BUCKET: BUCKET,
  };
  const { definition, functions } = await loadProduct();
  const handlerOf = (name: string): Handler => {
    const create = functions[name];
    if (create === undefined) throw new Error(`there is no function ${name}`);
    return create(ports, settings);
  };
  const { lambda, stepFunctions, events } = createRuntime(definition, handlerOf, options);
  const notices: SentNotice[] = [];
  let ahead = 0;
  const near: Ports = {
    ...rolloutPorts(settings),
    waitTokens: createWaitTokens(
      new SSMClient({}),
      `/${installation}/approval-tokens/`,
      settings.RECORD_PREFIX,
    ),
    clock: { now: () => new Date(Date.now() + ahead) },
    identities: createIdentities(settings.STATE_MACHINE_ARN, { now: () => new Date() }),
    instances: ec2Instances(),
    metrics: cloudWatchMetrics(),
    notices: noting(busNotices(), notices),
    workflow: stepFunctions.port,
  };
  const ports = callTakesMs === 0 ? near : behindANetwork(near, callTakesMs);
  return {
    settings,
    ports,
    executions: stepFunctions.executions,
    changed: announcer((event) => lambda.invoke('parameter-changed', event)),
    reconcile: () => lambda.invoke('reconcile', {}),
    stop: (execution) => void stepFunctions.stop(execution),
    crashNext: (functionName, when) => {
      lambda.crashNext(functionName, when);
    },
    putForward(milliseconds) {
      ahead += milliseconds;
    },
    events,
    notices,
    onStatus: (listener) => {
      stepFunctions.onStatus(listener);
    },
  };
}

const noting = (bus: Notices, sent: SentNotice[]): Notices => ({
  async send(notice) {
    await bus.send(notice);
    sent.push({ ...notice, at: new Date() });
  },
});

/** EventBridge, for Parameter Store's events. */
export function announcer(deliver: (event: unknown) => Promise<unknown>): RunningProduct['changed'] {
  let events = 0;
  return async (name, operation) => {
    events += 1;
    const happening = { id: `event-${events}`, at: new Date() };
    await deliver(parameterStoreChange(happening, { name, operation, type: 'String' }));
  };
}
