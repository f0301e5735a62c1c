/**
 * Forecasts of racks on the real Karpenter, read by the same reader from the API server and moto, and what then comes of
 * the racks: how long their Builds run is written on them only once the forecast is made. The workflow is as deployed,
 * with its 30 s before the plan, so that both are counted from the same start.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { forecastOf } from '../../cli/forecast/forecast.ts';
import { lengthExceededBy, priorOf } from '../../cli/forecast/prior.ts';
import { readRackFor } from '../../cli/forecast/read.ts';
import type { Forecast, Quantiles } from '../../cli/forecast/schema.ts';
import { playInThreads } from '../../cli/forecast/threads.ts';
import { lookOnce } from '../../cli/plan/one-look.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { systemClock } from '../../adapters/clock.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { createChance } from '../../simulator/account/chance.ts';
import { ASK, it, keep, PATIENT, SOON, type TestedRack } from './on-karpenter.ts';
import { startProduct, type SteeredProduct } from './product.ts';
import { startWorld, type World } from './world.ts';

const RACKS = ['foreseen-1', 'foreseen-2', 'foreseen-3'] as const;

let world: World;

beforeAll(async () => {
  world = await startWorld(RACKS);
}, 300_000);

afterAll(async () => {
  keep('forecast-karpenter', world.karpenterSaid());
  await world[Symbol.asyncDispose]();
});

/** What a plan sees of the rack once the parameters are set and nobody has heard of it; calls to the API server are noted. */
async function foresee(
  { name }: TestedRack,
  product: SteeredProduct,
): Promise<{ forecast: Forecast; methods: Set<string> }> {
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

/** How much longer each goes on: by the forecast's own prior, given its age. One that outlives the rollout ends after it. */
function hiddenLengths(seed: number, builds: readonly { build: string; startedAt: Date }[]) {
  const chance = createChance(seed);
  const { buildLength } = priorOf([]);
  return builds.map(({ build, startedAt }) => {
    const age = Date.now() - startedAt.getTime();
    const left = (lengthExceededBy(buildLength, age, 1 - chance.next()) - age) / 1_000;
    return { build, goesOnFor: Math.round(Math.min(left, OUTLIVES_S)) };
  });
}

/** Everything is on one machine here: what lies between a function and AWS is drawn, and hidden too. */
function hiddenLatency(seed: number): number {
  const { lowMs, highMs } = priorOf([]).call;
  return Math.round(lowMs * (highMs / lowMs) ** createChance(~seed).next());
}

/** More than deadline, drain time-out and what comes before and between. */
const OUTLIVES_S = 600;

interface Figure {
  what: string;
  truth: number;
  range: Quantiles;
}

/** Of all racks, filled as they end. */
const figures: Figure[] = [];

const isWithin = ({ truth, range: { p5, p95 } }: Figure): boolean =>
  p5 !== null && truth >= p5 && truth <= (p95 ?? Number.POSITIVE_INFINITY);

describe('what is foreseen of racks on the real Karpenter', () => {
  describe.concurrent('comes', PATIENT, () => {
    it.for(RACKS)('%s', async (name, { expect, rackOf }) => {
      const number = RACKS.indexOf(name);
      const callTakesMs = hiddenLatency(90_000 + number);
      const product = await startProduct('imds-rollout', { asDeployed: true, callTakesMs });
      const parameters = { ...SOON, imds_rollout_drain_timeout: '4m' };
      const rack = await rackOf(world, name, { product, parameters });
      const builds = ['one', 'two', 'three'].slice(0, 1 + number);
      const kept = await rack.serve('kept', 'budget');
      await rack.aloneWith(kept);
      await rack.busy(...builds);
      const machines = await rack.machines();
      const { forecast, methods } = await foresee(rack, product);
      const running = await Promise.all(
        builds.map(async (build) => ({ build, startedAt: (await rack.running(build)).startedAt })),
      );
      const hidden = hiddenLengths(90_000 + number, running);
      for (const { build, goesOnFor } of hidden) await rack.endBuild(build, goesOnFor);
      await rack.set(ASK);
      const { payload, startedAt, endedAt, status, output } = await rack.concluded();
      // In whole seconds, as a forecast tells them.
      const since = (at: string): number => Math.round(secondsBetween(startedAt.toISOString(), at));
      const { duration, modifiedLive, outcomes } = forecast;
      const found = [
        {
          what: `${name} compliant`,
          truth: since(String(payload['compliantAt'])),
          range: duration.toCompliant,
        },
        { what: `${name} ended`, truth: since(endedAt?.toISOString() ?? ''), range: duration.toEnd },
      ];
      figures.push(...found);
      keep(`${name}.forecast`, JSON.stringify({ forecast, hidden, callTakesMs, found }, null, 1));
      const words = found.map(
        ({ what, truth, range }) => `${what} after ${String(truth)} s, foreseen ${JSON.stringify(range)}`,
      );
      console.info(
        `Builds go on for ${hidden.map((each) => each.goesOnFor).join(', ')} s, a call takes ${String(callTakesMs)} ms; ${words.join('; ')}`,
      );
      expect(status).toBe('SUCCEEDED');
      expect(Object.keys(outcomes)).toContain((output as { outcome: string }).outcome);
      expect(methods).toEqual(new Set(['GET']));
      // The pod that a budget keeps keeps its node: that one is modified whatever Builds do.
      expect(modifiedLive.certain).toEqual([kept.node]);
      const modified = new Set(world.ec2.modifications.map(({ instanceId }) => instanceId));
      expect(modified).toContain(kept.instanceId);
      const spared = machines.filter(({ node = '' }) => modifiedLive.never.includes(node));
      expect(spared.filter(({ instanceId }) => modified.has(instanceId))).toEqual([]);
      // Looks, calls and modifications take their time: a moment that is told to the second would be a guess.
      const { p5, p95 } = duration.toCompliant;
      expect((p95 ?? 0) - (p5 ?? 0)).toBeGreaterThanOrEqual(2);
      expect((p95 ?? 0) - (p5 ?? 0)).toBeLessThan(60);
    });
  });

  it('lies within the printed range, P5 to P95', ({ expect }) => {
    expect(figures).toHaveLength(2 * RACKS.length);
    const outside = figures.filter((figure) => !isWithin(figure));
    expect(outside.length / figures.length, JSON.stringify(outside)).toBeLessThanOrEqual(0.2);
  });
});
