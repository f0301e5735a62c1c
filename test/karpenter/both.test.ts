/** The same scenario files on the simulator and on the real Karpenter: the results are equal key by key. */
import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { runScenario } from '../../simulator/run/run.ts';
import type { RealResult } from './both/collect.ts';
import { comparable } from './both/comparable.ts';
import { playAll, readScenario } from './both/play-scenario.ts';
import { keep } from './on-karpenter.ts';
import { startProduct } from './product.ts';
import { startWorld } from './world.ts';

const folder = new URL('../scenarios/both/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
const scenarios = files.map((file) => readScenario(new URL(file, folder)));

let real: Map<string, PromiseSettledResult<RealResult>>;

beforeAll(async () => {
  await using world = await startWorld(scenarios.map(({ name }) => name));
  const product = await startProduct('imds-rollout', { asDeployed: true });
  real = await playAll({ ...world, product }, scenarios);
  keep('both-karpenter', world.karpenterSaid());
}, 900_000);

describe.each(scenarios)('$name', (scenario) => {
  it('comes to the same on the simulator and on the real Karpenter', async () => {
    const played = real.get(scenario.name);
    if (played?.status !== 'fulfilled') throw played?.reason as Error;
    keep(`both-${scenario.name}.result`, JSON.stringify(played.value, null, 1));
    const simulated = await runScenario(scenario);
    expect(comparable(played.value)).toEqual(comparable(simulated));
  });
});
