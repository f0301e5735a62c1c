/** Plays what may come of a rack, to the end of its rollout. */
import { loadProduct } from '../../simulator/run/product.ts';
import type { RunResult } from '../../simulator/run/result.ts';
import { runScenario } from '../../simulator/run/run.ts';
import type { World } from '../../simulator/run/world.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';

/** Results in the order of the scenarios. */
export type PlayAll = (scenarios: readonly Scenario[]) => Promise<RunResult[]>;

/** In this thread, one after the other: each has its clock to itself, and nobody else's timer runs meanwhile. */
export const playHere: PlayAll = async (scenarios) => {
  const product = await loadProduct();
  const results: RunResult[] = [];
  for (const scenario of scenarios) {
    results.push(await runScenario(scenario, { product, invariants: () => UNJUDGED, endWhen: hasEnded }));
  }
  return results;
};

/** A forecast foresees: the invariants are for the simulator's own tests to judge. */
const UNJUDGED = { check: () => [], atEnd: () => [] };

/** Once no rollout runs any more: what is held then stays held for as long as its Builds run. */
export const hasEnded = ({ executions }: Pick<World, 'executions'>): boolean =>
  executions.length > 0 && executions.every(({ status }) => status !== 'RUNNING');
