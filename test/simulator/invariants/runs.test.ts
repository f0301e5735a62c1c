/** The invariants on whole runs: they watch, and have nothing to say. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { CreateHandler } from '../../../simulator/account/account.ts';
import { replayedProduct } from '../../../simulator/invariants/replayed-product.ts';
import { watchWorld } from '../../../simulator/invariants/watch-world.ts';
import { loadProduct } from '../../../simulator/run/product.ts';
import { runScenario } from '../../../simulator/run/run.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';

// A busy machine may be slow.
vi.setConfig({ testTimeout: 60_000 });

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

  it('sees a product that writes what it must not, and writes it again', async () => {
    const product = await loadProduct();
    const real = product.functions['observe'];
    if (real === undefined) throw new Error('there is no function observe');
    const clumsy: CreateHandler = (ports, environment) => {
      const handler = real(ports, environment);
      return async (event, context) => {
        const cluster = await ports.clusters.connect('demo-cluster');
        await cluster.patch('Node', 'workload-1', {
          metadata: { annotations: { at: ports.clock.now().toISOString() } },
        });
        return handler(event, context);
      };
    };
    const replayed = replayedProduct({ ...product, functions: { ...product.functions, observe: clumsy } });
    const result = await runScenario(scenario, {
      product: replayed.product,
      until: 5 * 60_000,
      invariants: (world) => {
        replayed.watch(world);
        return watchWorld(world);
      },
    });
    expect(result.violations[0]).toMatchObject({ invariant: '1 allowed-writes' });
    expect(result.violations[0]?.what).toContain('node workload-1');
    expect(replayed.violations[0]).toMatchObject({ invariant: '8 twice-equals-once' });
  });
});
