/** The account put together: everything AWS that the service meets, on one clock, behind one gate. */
import type { Claim, Clusters, Ports } from '../../rollout/ports.ts';
import type { Chance } from '../parts.ts';
import type { RunningClock } from './clock.ts';
import type { WrittenDefinition } from './definition.ts';
import { createEc2, type Ec2Options, type SimulatedEc2 } from './ec2.ts';
import { createEventBus, type EventBus } from './event-bus.ts';
import type { SimulatedGate } from './gate.ts';
import { createIdentities, proofOf } from './identities.ts';
import { createLambda, type Handler, type Lambda } from './lambda.ts';
import { createSimulatedMetrics, type SimulatedMetrics } from './metadata-metrics.ts';
import { createParameterStore, type ParameterStore } from './parameter-store.ts';
import { createStepFunctions, type StepFunctions } from './step-functions.ts';
import {
  createApprovalStore,
  createNoticeBoard,
  createRecordStore,
  createReportStore,
  createTokenStore,
  type NoticeBoard,
  type RecordStore,
  type ReportStore,
} from './storage.ts';

export interface Account {
  parameterStore: ParameterStore;
  records: RecordStore;
  ec2: SimulatedEc2;
  lambda: Lambda;
  stepFunctions: StepFunctions;
  eventBus: EventBus;
  reports: ReportStore;
  notices: NoticeBoard;
  metrics: SimulatedMetrics;
  ports: Ports;
  /**
   * What `approve` and `reject` do at a person's terminal: prove who they are, and invoke the function. Without a `by`
   * there is no proof. Resolves to what the function answers.
   */
  decide(by: string | undefined, claim: Claim): Promise<unknown>;
  /** Whether any execution or function runs. */
  busy(): boolean;
  /** Milliseconds since the epoch of the last change of anything in the account. */
  changedAt(): number;
}

/** A function of the product: handler builder as in functions/<name>/create-handler.ts. */
export type CreateHandler = (ports: Ports, environment: Record<string, string>) => Handler;

export const parameterPrefix = '/racks/';
const recordPrefix = '/imds-rollout/racks/';
const tokenPrefix = '/imds-rollout/approval-tokens/';

export function createAccount(options: {
  clock: RunningClock;
  chance: Chance;
  gate: SimulatedGate;
  ec2: Ec2Options;
  clusters: Clusters;
  definition: WrittenDefinition;
  /** By folder name below functions/. */
  functions: Record<string, CreateHandler>;
  environment: Record<string, string>;
}): Account {
  const { clock, chance, gate } = options;
  const parameterStore = createParameterStore({ clock, gate, prefix: parameterPrefix });
  const records = createRecordStore(gate, recordPrefix);
  const approvals = createApprovalStore(gate, recordPrefix);
  const waitTokens = createTokenStore(gate, tokenPrefix);
  const published = options.ec2.metrics ?? 'sparse';
  const metrics = createSimulatedMetrics({ clock, gate, published }, (id) => ec2.historyOf(id));
  const ec2: SimulatedEc2 = createEc2({
    ...options.ec2,
    clock,
    chance,
    gate,
    counted: (count) => {
      metrics.count(count);
    },
  });
  const reports = createReportStore(gate, clock);
  const notices = createNoticeBoard(gate, clock);
  const lambda = createLambda({
    clock,
    chance,
    handlerOf(functionName) {
      const create = options.functions[functionName];
      if (!create) throw new Error(`there is no function ${functionName}`);
      return create(ports, options.environment);
    },
  });
  const stepFunctions = createStepFunctions({ clock, gate, lambda, definition: options.definition });
  const eventBus = createEventBus({ clock, chance, lambda });
  const ports: Ports = {
    clock,
    parameters: parameterStore.port,
    records: records.port,
    approvals,
    waitTokens,
    identities: createIdentities(gate, clock),
    instances: ec2.port,
    clusters: options.clusters,
    workflow: stepFunctions.port,
    reports: reports.port,
    notices: notices.port,
    metrics: metrics.port,
  };

  let executionChangedAt = 0;
  parameterStore.onChange((change) => {
    eventBus.parameterChanged(change);
  });
  stepFunctions.onStatus((execution) => {
    executionChangedAt = clock.now().getTime();
    eventBus.executionChanged(execution);
  });

  return {
    parameterStore,
    records,
    ec2,
    lambda,
    stepFunctions,
    eventBus,
    reports,
    notices,
    metrics,
    ports,
    decide(by, claim) {
      gate.note({
        caller: { function: 'person' },
        api: 'lambda:Invoke',
        write: true,
        target: 'approve',
        body: { by: by ?? null, ...claim },
      });
      const identity = by === undefined ? '' : proofOf(by, claim, clock.now());
      return lambda.invoke('approve', { ...claim, identity });
    },
    busy: () =>
      lambda.running().length > 0 ||
      stepFunctions.executions.some((execution) => execution.status === 'RUNNING'),
    changedAt: () => Math.max(gate.changedAt(), ec2.changedAt(), executionChangedAt),
  };
}
