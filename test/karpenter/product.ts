/**
 * The product on the real neighbours, in real time: its handlers, its ports and its workflow. The workflow is run in
 * this process, so that one of its ports is not the deployed one.
 */
import { ec2Instances } from '../../adapters/instances.ts';
import { busNotices } from '../../adapters/notices.ts';
import { rolloutPorts } from '../../adapters/rollout-ports.ts';
import type { Ports } from '../../rollout/ports.ts';
import { createChance } from '../../simulator/account/chance.ts';
import type { RunningClock } from '../../simulator/account/clock.ts';
import type { WrittenDefinition } from '../../simulator/account/definition.ts';
import { parameterStoreChange } from '../../simulator/account/events.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import { createGate } from '../../simulator/account/gate.ts';
import { createLambda } from '../../simulator/account/lambda.ts';
import { stateMachineArn } from '../../simulator/account/names.ts';
import { createStepFunctions } from '../../simulator/account/step-functions.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { BUCKET } from './account.ts';

export const settings = {
  PARAMETER_PREFIX: '/racks/',
  RECORD_PREFIX: '/imds-rollout/racks/',
  STATE_MACHINE_ARN: stateMachineArn,
  REPORT_BUCKET: BUCKET,
};

export interface RunningProduct {
  ports: Ports;
  executions: readonly ExecutionRecord[];
  /** Parameter Store's event, which reaches `parameter-changed`. */
  changed(name: string, operation: 'Create' | 'Update' | 'Delete'): Promise<void>;
  reconcile(): Promise<unknown>;
}

/** Real time behind the simulator's interface, for the parts of it that play Step Functions and Lambda. */
const realClock: RunningClock = {
  now: () => new Date(),
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
  every(milliseconds, action) {
    const timer = setInterval(action, milliseconds);
    return () => {
      clearInterval(timer);
    };
  },
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  step: () => Promise.resolve(false),
  onInstant: () => undefined,
  uninstall: () => undefined,
};

/** Parameters are set one after the other in a moment here; the deployed workflow gives people 30 s for it. */
const SETTLE_SECONDS = 2;

export async function startProduct(): Promise<RunningProduct> {
  const { definition, functions } = await loadProduct();
  const chance = createChance(1);
  const gate = createGate({ clock: realClock, chance, faults: [] });
  const lambda = createLambda({
    clock: realClock,
    chance,
    handlerOf(name) {
      const create = functions[name];
      if (create === undefined) throw new Error(`there is no function ${name}`);
      return create(ports, settings);
    },
  });
  const stepFunctions = createStepFunctions({
    clock: realClock,
    gate,
    lambda,
    definition: settlingSooner(definition),
  });
  const ports: Ports = {
    ...rolloutPorts(settings),
    instances: ec2Instances(),
    notices: busNotices(),
    workflow: stepFunctions.port,
  };
  let events = 0;
  return {
    ports,
    executions: stepFunctions.executions,
    async changed(name, operation) {
      events += 1;
      const happening = { id: `event-${events}`, at: new Date() };
      await lambda.invoke(
        'parameter-changed',
        parameterStoreChange(happening, { name, operation, type: 'String' }),
      );
    },
    reconcile: () => lambda.invoke('reconcile', {}),
  };
}

function settlingSooner(definition: WrittenDefinition): WrittenDefinition {
  const { Settle } = definition.States;
  if (Settle?.['Seconds'] === undefined) throw new Error('the workflow has no Wait named Settle any more');
  return {
    ...definition,
    States: { ...definition.States, Settle: { ...Settle, Seconds: SETTLE_SECONDS } },
  };
}
