/**
 * Forecasts of racks on the real Karpenter, read by the same reader from the API server and moto, and what then comes of
 * the racks: how long their Builds run is written on them only once the forecast is made.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { forecastOf } from '../../cli/forecast/forecast.ts';
import { readRackFor } from '../../cli/forecast/read.ts';
import type { Forecast } from '../../cli/forecast/schema.ts';
import { playInThreads } from '../../cli/forecast/threads.ts';
import { lookOnce } from '../../cli/plan/one-look.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { systemClock } from '../../adapters/clock.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { createChance } from '../../simulator/account/chance.ts';
import { ASK, it, keep, PATIENT, SOON, succeeded, type TestedRack } from './on-karpenter.ts';
import { startProduct, type SteeredProduct } from './product.ts';
import { startWorld, type World } from './world.ts';

let world: World;
let product: SteeredProduct;

beforeAll(async () => {
  world = await startWorld(['foreseen-1', 'foreseen-2', 'foreseen-3']);
  product = await startProduct();
}, 300_000);

afterAll(async () => {
  keep('forecast-karpenter', world.karpenterSaid());
  await world[Symbol.asyncDispose]();
});

/** What a plan sees of the rack once the parameters are set and nobody has heard of it; calls to the API server are noted. */
async function foresee({ name }: TestedRack): Promise<{ forecast: Forecast; methods: Set<string> }> {
  const methods = new Set<string>();
  const noting: ApiClient = (call) => {
    methods.add(call.method);
    return world.api(call);
  };
  const never = () => Promise.reject(new Error('a forecast needs none of this'));
  const ports = {
    ...product.ports,
    parameters: {
      ...product.ports.parameters,
      list: async (rack: string) => [...(await product.ports.parameters.list(rack)), ...asked()],
    },
    clusters: { connect: () => Promise.resolve(createCluster(noting, systemClock)) },
  };
  const look = lookOnce(ports, { metrics: { sums: never }, podIdentities: { list: never } });
  const read = await readRackFor(look, name);
  if ('missing' in read) throw new Error(read.missing);
  keep(`${name}.scenario`, read.text);
  return { forecast: await forecastOf(read, { runs: 40, seed: 1 }, playInThreads), methods };
}

const asked = (): StoredParameter[] =>
  Object.entries(ASK).map(([key, value]) => ({
    key,
    value,
    type: 'String',
    version: 1,
    lastModifiedDate: new Date().toISOString(),
  }));

const secondsBetween = (one: string, other: string): number => (Date.parse(other) - Date.parse(one)) / 1_000;

describe.concurrent('what is foreseen of a rack on the real Karpenter', PATIENT, () => {
  it.for([1, 2, 3])('comes: rack %i', async (number, { expect, rackOf }) => {
    const chance = createChance(90_000 + 7_919 * number);
    const parameters = { ...SOON, imds_rollout_drain_timeout: '4m' };
    const rack = await rackOf(world, `foreseen-${String(number)}`, { parameters });
    const builds = ['one', 'two', 'three'].slice(0, 1 + (number % 3));
    const kept = await rack.serve('kept', 'budget');
    await rack.aloneWith(kept);
    await rack.busy(...builds);
    const { forecast, methods } = await foresee(rack);
    const hidden = builds.map((build) => ({ build, runsFor: Math.round(chance.between(15, 200)) }));
    for (const { build, runsFor } of hidden) await rack.endBuild(build, runsFor);
    await rack.set(ASK);
    const { payload, startedAt, endedAt, ...ended } = await rack.concluded();
    const truth = {
      toCompliant: secondsBetween(startedAt.toISOString(), String(payload['compliantAt'])),
      toEnd: secondsBetween(startedAt.toISOString(), endedAt?.toISOString() ?? ''),
      modified: [...new Set(world.ec2.modifications.map(({ instanceId }) => instanceId))],
    };
    keep(`${rack.name}.forecast`, JSON.stringify({ forecast, hidden, truth }, null, 1));
    const { duration, modifiedLive, outcomes } = forecast;
    console.info(
      `${rack.name}: Builds run ${hidden.map(({ runsFor }) => `${String(runsFor)} s`).join(', ')}; compliant after ${String(truth.toCompliant)} s (foreseen ${JSON.stringify(duration.toCompliant)}), ended after ${String(truth.toEnd)} s (foreseen ${JSON.stringify(duration.toEnd)})`,
    );
    expect(ended).toMatchObject(succeeded);
    expect(Object.keys(outcomes)).toContain('Succeeded');
    expect(methods).toEqual(new Set(['GET']));
    // The pod that a budget keeps keeps its node: that one is modified whatever Builds do.
    expect(modifiedLive.certain).toEqual([kept.node]);
    expect(truth.modified).toContain(kept.instanceId);
    expect(truth.toCompliant).toBeLessThanOrEqual((duration.toCompliant.p95 ?? 0) + SLACK_S);
    expect(truth.toEnd).toBeLessThanOrEqual((duration.toEnd.p95 ?? 0) + SLACK_S);
  });
});

/** A rollout settles for 2 s here in the place of 30, and a machine of two cores runs three racks. */
const SLACK_S = 30;
