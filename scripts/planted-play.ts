// Plays scenarios with the sources of the tree that this file is in, and prints what they break, one JSON line a run.
// A run is `once:SEEDS:FILE`, or `twice:SEEDS:FILE` where every task of the workflow is run twice; it is played with so
// many seeds, the scenario's own and those that follow. Started by planted.ts.
import { readFileSync } from 'node:fs';
import { replayedProduct } from '../simulator/invariants/replayed-product.ts';
import { watchWorld } from '../simulator/invariants/watch-world.ts';
import { loadProduct } from '../simulator/run/product.ts';
import { runScenario, type RunOptions } from '../simulator/run/run.ts';
import type { Violation } from '../simulator/run/result.ts';
import { differences } from '../simulator/scenario/expect.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';

async function play(run: string): Promise<Violation[]> {
  const [, mode, seeds, file] = /^(once|twice):(\d+):(.*)$/.exec(run) ?? [];
  if (file === undefined) throw new Error(`a run is once:SEEDS:FILE or twice:SEEDS:FILE, not ${run}`);
  const scenario = loadScenario(readFileSync(file, 'utf8'), file);
  const violations: Violation[] = [];
  for (let more = 0; more < Number(seeds); more += 1) {
    const seed = scenario.seed + more;
    violations.push(...(mode === 'once' ? await playOnce(scenario, seed) : await playTwice(scenario, seed)));
  }
  return violations;
}

/** What a scenario expects holds for its own seed: a difference is reported like a broken invariant. */
async function playOnce(scenario: Scenario, seed: number): Promise<Violation[]> {
  const result = await runScenario(scenario, { seed });
  const differing = seed === scenario.seed ? differences(scenario.expect ?? {}, { ...result }) : [];
  const at = new Date(scenario.startsAt).toISOString();
  return [...result.violations, ...differing.map((what) => ({ invariant: 'expect', at, what }))];
}

async function playTwice(scenario: Scenario, seed: number): Promise<Violation[]> {
  const replayed = replayedProduct(await loadProduct());
  const options: RunOptions = {
    seed,
    product: replayed.product,
    invariants: (world) => {
      replayed.watch(world);
      return watchWorld(world);
    },
  };
  const { violations } = await runScenario(scenario, options);
  return [...violations, ...replayed.violations];
}

for (const run of process.argv.slice(2)) {
  const violations = await play(run);
  // The first of each invariant says enough: a defect may break one at every look.
  const first = new Map(violations.toReversed().map((violation) => [violation.invariant, violation.what]));
  process.stdout.write(`${JSON.stringify({ run, broken: Object.fromEntries(first) })}\n`);
}
