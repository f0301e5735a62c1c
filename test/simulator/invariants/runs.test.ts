/** The invariants on whole runs: they watch, and have nothing to say. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { replayedProduct } from '../../../simulator/invariants/replayed-product.ts';
import { watchWorld } from '../../../simulator/invariants/watch-world.ts';
import { loadProduct } from '../../../simulator/run/product.ts';
import { runScenario } from '../../../simulator/run/run.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';

const scenario = loadScenario(readFileSync('test/scenarios/default.yaml', 'utf8'), 'default.yaml');

describe('the default scenario', () => {
  it('breaks no invariant', async () => {
    const result = await runScenario(scenario, { invariants: watchWorld });
    expect(result.violations).toEqual([]);
    expect(result).toMatchObject({ outcome: 'Succeeded', buildsLost: 0 });
  });

  it('ends the same with every task run twice, and nothing is written the second time', async () => {
    const replayed = replayedProduct(await loadProduct());
    const result = await runScenario(scenario, {
      product: replayed.product,
      invariants: (world) => {
        replayed.watch(world);
        return watchWorld(world);
      },
    });
    expect(replayed.violations).toEqual([]);
    expect(result.violations).toEqual([]);
    expect(result).toMatchObject({ outcome: 'Succeeded', buildsLost: 0 });
  });
});
