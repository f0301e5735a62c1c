/**
 * A scenario at some moment: what `plan`, `status`, `params` and `report` answer from with `--scenario`. The ports of
 * the played world are used as those of an account would be.
 */
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
}

/** Plays to the moment. */
export async function playToMoment({
  scenario: file,
  at,
  rack,
}: MomentOptions & { scenario: string }): Promise<Moment> {
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
  // The moment stands still: an answer that a fault delays would never come. Errors stay as they are.
  for (const fault of scenario.faults) fault.latency = 0;
  return { rack: scenario.rack, world, result };
}
