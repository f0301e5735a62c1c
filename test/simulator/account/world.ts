/** A small account with functions and a definition of the test's own, in virtual time. */
import type { Cluster, Ports } from '../../../rollout/ports.ts';
import { createAccount, type Account, type CreateHandler } from '../../../simulator/account/account.ts';
import { createChance } from '../../../simulator/account/chance.ts';
import { installClock, settle, type RunningClock } from '../../../simulator/account/clock.ts';
import type { WrittenDefinition } from '../../../simulator/account/definition.ts';
import { createGate, type Fault, type SimulatedGate } from '../../../simulator/account/gate.ts';

export const startsAt = new Date('2026-03-02T09:00:00Z');

export interface World {
  clock: RunningClock;
  gate: SimulatedGate;
  account: Account;
  /** Plays until so many milliseconds have passed since the start. */
  until: (milliseconds: number) => Promise<void>;
}

const oneTask: WrittenDefinition = {
  StartAt: 'Plan',
  States: {
    Plan: {
      Type: 'Task',
      Resource: 'arn:aws:states:::lambda:invoke',
      Parameters: { FunctionName: '${PlanFunctionArn}', 'Payload.$': '$' },
      OutputPath: '$.Payload',
      End: true,
    },
  },
};

/** Runs the test's body with time replaced, and gives the real one back whatever happens. */
export async function inWorld(
  options: {
    faults?: (Partial<Fault> & Pick<Fault, 'api'>)[];
    functions?: Record<string, (event: unknown, ports: Ports) => unknown>;
    definition?: WrittenDefinition;
    ec2?: Partial<Parameters<typeof createAccount>[0]['ec2']>;
  },
  body: (world: World) => Promise<void>,
): Promise<void> {
  const clock = installClock(startsAt);
  try {
    const chance = createChance(1);
    const faults = (options.faults ?? []).map((fault) => ({
      error: null,
      latency: 0,
      from: 0,
      until: null,
      share: 1,
      ...fault,
    }));
    const gate = createGate({ clock, chance, faults });
    const functions = Object.fromEntries(
      Object.entries(options.functions ?? {}).map(([name, run]): [string, CreateHandler] => [
        name,
        (ports) => async (event) => run(event, ports),
      ]),
    );
    const account = createAccount({
      clock,
      chance,
      gate,
      ec2: {
        modifyBucket: { capacity: 100, refillPerSecond: 5, strangers: 0 },
        applyDelay: 2_000,
        readStaleness: 0,
        httpTokensEnforced: false,
        ...options.ec2,
      },
      clusters: { connect: () => Promise.reject<Cluster>(new Error('no cluster here')) },
      definition: options.definition ?? oneTask,
      functions,
      environment: {},
    });
    const until = async (milliseconds: number): Promise<void> => {
      await settle();
      const moment = { reached: false };
      const left = startsAt.getTime() + milliseconds - clock.now().getTime();
      clock.after(left, () => {
        moment.reached = true;
      });
      while (!moment.reached) await clock.step();
    };
    await body({ clock, gate, account, until });
  } finally {
    clock.uninstall();
  }
}
