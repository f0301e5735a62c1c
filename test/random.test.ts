/**
 * Whatever happens to a rack, no invariant breaks. RANDOM_RUNS and RANDOM_SEED hunt further; a counterexample is
 * printed as a scenario in JSON, which is YAML: save it and play it with `simulate`.
 */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { replayedProduct } from '../simulator/invariants/replayed-product.ts';
import { watchWorld } from '../simulator/invariants/watch-world.ts';
import { loadProduct } from '../simulator/run/product.ts';
import { runScenario } from '../simulator/run/run.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import { wrongNotices } from './notices.ts';
import { scenarioText } from './random-scenario.ts';

const numRuns = Number(process.env['RANDOM_RUNS'] ?? '40');
const seed = Number(process.env['RANDOM_SEED'] ?? '20260302');

vi.setConfig({ testTimeout: 60_000 + numRuns * 10_000 });

test('no afternoon by chance breaks an invariant', async () => {
  const product = await loadProduct();
  const outcomes = new Set<string | null>();
  let lost = 0;
  await fc.assert(
    fc.asyncProperty(scenarioText, async (text) => {
      const scenario = loadScenario(text, 'by-chance.yaml');
      // Where a neighbour answers otherwise the second time, or with what was a moment ago, writing again is right.
      const steady = scenario.faults.length === 0 && scenario.ec2.readStaleness === 0;
      const twice = steady ? replayedProduct(product) : undefined;
      const result = await runScenario(scenario, {
        product: twice?.product ?? product,
        invariants: (world) => {
          twice?.watch(world);
          return watchWorld(world);
        },
      });
      for (const { outcome } of result.rollouts) outcomes.add(outcome);
      lost += result.buildsLost;
      expect([...result.violations, ...(twice?.violations ?? [])]).toEqual([]);
      expect(wrongNotices(result.notices)).toEqual([]);
    }),
    { numRuns, seed },
  );
  // Chance that meets nothing proves nothing.
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['Succeeded', 'NothingToDo', 'Refused', 'Superseded']),
  );
  expect(lost).toBeGreaterThan(0);
});
