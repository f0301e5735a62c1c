/** What of AWS runs the product: Lambda and Step Functions as the simulator has them, but in real time. */
import { createChance } from '../../simulator/account/chance.ts';
import type { RunningClock } from '../../simulator/account/clock.ts';
import type { WrittenDefinition } from '../../simulator/account/definition.ts';
import { createEventBus, type EventBus } from '../../simulator/account/event-bus.ts';
import { createGate } from '../../simulator/account/gate.ts';
import { createLambda, type Handler, type Lambda } from '../../simulator/account/lambda.ts';
import { createStepFunctions, type StepFunctions } from '../../simulator/account/step-functions.ts';

/** Real time behind the simulator's interface. */
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

export interface RuntimeOptions {
  /** The first wait is as long as it is deployed, and the ends of executions reach `rollout-ended`. */
  asDeployed?: boolean;
  /** The ends of executions reach `rollout-ended`, as where it is all as deployed. */
  tellsEnds?: boolean;
}

export interface Runtime {
  lambda: Lambda;
  stepFunctions: StepFunctions;
  /** EventBridge: late by seconds, by schedule, and as a scenario has it. */
  events: EventBus;
}

/** Runs a definition on the functions that it names; `handlerOf` is asked once for each. */
export function createRuntime(
  definition: WrittenDefinition,
  handlerOf: (functionName: string) => Handler,
  { asDeployed = false, tellsEnds = asDeployed }: RuntimeOptions = {},
): Runtime {
  const chance = createChance(1);
  const gate = createGate({ clock: realClock, chance, faults: [] });
  const lambda = createLambda({ clock: realClock, chance, handlerOf });
  const stepFunctions = createStepFunctions({
    clock: realClock,
    gate,
    lambda,
    definition: asDeployed ? definition : settlingSooner(definition),
  });
  const events = createEventBus({ clock: realClock, chance, lambda });
  if (tellsEnds) {
    stepFunctions.onStatus((execution) => {
      events.executionChanged(execution);
    });
  }
  return { lambda, stepFunctions, events };
}

function settlingSooner(definition: WrittenDefinition): WrittenDefinition {
  const { Settle } = definition.States;
  if (Settle?.['Seconds'] === undefined) throw new Error('the workflow has no Wait named Settle any more');
  return {
    ...definition,
    States: { ...definition.States, Settle: { ...Settle, Seconds: SETTLE_SECONDS } },
  };
}
