/**
 * Plays a scenario with the product's real handlers and its real workflow in virtual time, and gives the result. The
 * end is the contract's: at `runFor`, or once everything has been played and nothing has changed for 30 minutes.
 */
import { withSeededRandom } from '../account/chance.ts';
import { installClock, settle, type RunningClock } from '../account/clock.ts';
import type { Invariants } from '../invariants/invariants.ts';
import { watchWorld } from '../invariants/watch-world.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { collectResult } from './collect.ts';
import { loadProduct } from './product.ts';
import { quietly } from './quiet.ts';
import type { RunResult, Violation } from './result.ts';
import { startTimeline, type CommandHook, type Timeline } from './timeline.ts';
import { buildWorld, type Product, type World } from './world.ts';

export interface RunOptions {
  /** The scenario's where absent. */
  seed?: number;
  /** Ends the run after so many virtual milliseconds, where the scenario would go on. */
  until?: number;
  /** Ends the run at the first instant at which it says so, where the scenario would go on. */
  endWhen?: (world: World) => boolean;
  /** Called once for each virtual instant at which something happened, after all of it. */
  onStep?: (world: World) => void;
  commands?: CommandHook;
  /** The product's own where absent; tests of the machinery give others. */
  invariants?: (world: World) => Invariants;
  /** The functions and the workflow of the tree where absent. */
  product?: Product;
}

const quietFor = 30 * 60_000;
let running = false;

/** One at a time in a process, since time itself is replaced. */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<RunResult> {
  if (running)
    throw new Error('a run is going on in this process; runs replace its clock, so start them one by one');
  running = true;
  try {
    return await quietly(async () => {
      const product = options.product ?? (await loadProduct());
      const clock = installClock(new Date(scenario.startsAt));
      try {
        const seed = options.seed ?? scenario.seed;
        // Another sequence than the world's own: a retry more must not change every delay after it.
        return await withSeededRandom(~seed, () => play(scenario, seed, options, product, clock));
      } finally {
        clock.uninstall();
      }
    });
  } finally {
    running = false;
  }
}

async function play(
  scenario: Scenario,
  seed: number,
  options: RunOptions,
  product: Product,
  clock: RunningClock,
): Promise<RunResult> {
  const world = buildWorld(scenario, seed, clock, product);
  const timeline = startTimeline(world, options.commands);
  const invariants = (options.invariants ?? watchWorld)(world);
  const violations: Violation[] = [];
  const run: { endedBecause?: RunResult['endedBecause'] } = {};

  // Each write is judged by what was just before it; what nobody called for shows at the end of its instant.
  world.onAudit((entry) => {
    if (entry.write) violations.push(...invariants.check());
  });
  world.account.eventBus.startSchedule();
  const until = options.until ?? Number.POSITIVE_INFINITY;
  clock.after(Math.min(scenario.runFor, until), () => {
    run.endedBecause ??= until < scenario.runFor ? 'asked' : 'runFor';
  });
  clock.onInstant(() => {
    violations.push(...invariants.check());
    options.onStep?.(world);
    if (options.endWhen?.(world) === true) run.endedBecause ??= 'asked';
    if (ended(world, timeline)) run.endedBecause ??= 'quiet';
  });

  await settle();
  while (run.endedBecause === undefined && (await clock.step()));
  violations.push(...invariants.atEnd());
  return collectResult(world, {
    seed,
    violations,
    undone: [...timeline.undone],
    endedBecause: run.endedBecause ?? 'quiet',
  });
}

/** "The end" of the contract. The cheap questions come first: this is asked at every instant. */
function ended({ account, cluster, clock }: World, timeline: Timeline): boolean {
  const now = clock.now().getTime();
  return (
    timeline.played() &&
    now - Math.max(account.changedAt(), cluster.changedAt().getTime()) >= quietFor &&
    !account.busy() &&
    !cluster.busy()
  );
}
