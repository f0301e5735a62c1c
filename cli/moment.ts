/**
 * A scenario at some moment: what `plan`, `status`, `params` and `report` answer from with `--scenario`. The ports of
 * the played world are used as those of an account would be.
 */
import { decideStep, DecisionRefused, type DecisionAnswer } from '../rollout/decide.ts';
import type { Claim, Ports } from '../rollout/ports.ts';
import { proofOf } from '../simulator/account/identities.ts';
import { watchWorld } from '../simulator/invariants/watch-world.ts';
import type { RunResult } from '../simulator/run/result.ts';
import { runScenario } from '../simulator/run/run.ts';
import type { World } from '../simulator/run/world.ts';
import { formatDuration, parseMoment } from '../simulator/scenario/duration.ts';
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
  const until = at === undefined ? undefined : parseMoment(at);
  if (at !== undefined && until === undefined) {
    throw new CommandFailure(
      `--at ${JSON.stringify(at)} is not accepted; accepted: the time since the start, such as 90s, 12m or 1h1m36s`,
    );
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
  const end = result.virtualSeconds * 1_000;
  if (at !== undefined && until !== undefined && until > end) {
    process.stderr.write(`${at} is after the end of ${file}: this is its end, +${formatDuration(end)}\n`);
  }
  // The moment stands still: an answer that a fault delays would never come. Errors stay as they are.
  for (const fault of scenario.faults) fault.latency = 0;
  return { rack: scenario.rack, world, result };
}

/**
 * Somebody decides at that moment, as the function `approve` takes it. The moment stands still: what the rollout makes of
 * the decision is not played, so its wait is not ended.
 */
export async function decideThen({ account }: World, claim: Claim): Promise<DecisionAnswer> {
  const { ports } = account;
  const workflow: Ports['workflow'] = { ...ports.workflow, answer: () => Promise.resolve('answered') };
  const identity = proofOf('arn:aws:iam::123456789012:user/you', claim, ports.clock.now());
  try {
    return await decideStep({ ...ports, workflow }, { ...claim, identity });
  } catch (error) {
    if (error instanceof DecisionRefused) return { refused: error.message };
    throw error;
  }
}
