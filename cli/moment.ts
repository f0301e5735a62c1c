/**
 * A scenario at some moment: what `plan`, `status`, `params` and `report` answer from with `--scenario`. The ports of
 * the played world are used as those of an account would be.
 */
import { settle } from '../simulator/account/clock.ts';
import { watchWorld } from '../simulator/invariants/watch-world.ts';
import type { RunResult } from '../simulator/run/result.ts';
import { runScenario } from '../simulator/run/run.ts';
import type { World } from '../simulator/run/world.ts';
import { parseDuration } from '../simulator/scenario/duration.ts';
import { CommandFailure } from './failure.ts';
import { readScenario } from './scenario-file.ts';

export interface MomentOptions {
  scenario?: string;
  at?: string;
  rack?: string;
}

export interface Moment {
  rack: string;
  world: World;
  result: RunResult;
  /** Asks the world's ports. Waits in virtual time where a fault delays the answer. */
  ask<T>(question: () => Promise<T>): Promise<T>;
}

/** Plays to the moment; refuses where there is no scenario, since an account cannot be asked yet. */
export async function playToMoment({ scenario: file, at, rack }: MomentOptions): Promise<Moment> {
  if (file === undefined) {
    throw new CommandFailure('working against an account is not available yet: give --scenario FILE');
  }
  const scenario = readScenario(file);
  if (rack !== undefined && rack !== scenario.rack) {
    throw new CommandFailure(`there is no rack ${rack} in ${file}: its rack is ${scenario.rack}`);
  }
  const until = at === undefined ? undefined : parseDuration(at);
  if (at !== undefined && (until === undefined || until < 0)) {
    throw new CommandFailure(`--at ${at} is not accepted; accepted: a duration such as 90s, 15m, 2h or 1d`);
  }
  let world: World | undefined;
  const result = await runScenario(scenario, {
    ...(until === undefined ? {} : { until }),
    invariants: (made) => {
      world = made;
      return watchWorld(made);
    },
  });
  if (world === undefined) throw new CommandFailure(`${file} could not be played`);
  return { rack: scenario.rack, world, result, ask: asker(world) };
}

/** After a run its clock stands still, and goes on only as far as an answer needs. */
function asker({ clock }: World): Moment['ask'] {
  return async (question) => {
    const answer = question();
    const waiting = { open: true };
    const closed = (): void => {
      waiting.open = false;
    };
    answer.then(closed, closed);
    await settle();
    while (isOpen(waiting) && (await clock.step()));
    return answer;
  };
}

/** Asked anew each time: it changes while a step is waited for. */
function isOpen(waiting: { open: boolean }): boolean {
  return waiting.open;
}
