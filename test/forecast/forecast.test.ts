/** A forecast held against what then comes: of racks whose Builds, delays and failures it cannot see. */
import { describe, expect, it, vi } from 'vitest';
import { forecastOf, playedFrom, quantiles, type Played } from '../../cli/forecast/forecast.ts';
import { hasEnded, playHere } from '../../cli/forecast/play.ts';
import { lengthExceededBy, priorOf } from '../../cli/forecast/prior.ts';
import { readRackFor } from '../../cli/forecast/read.ts';
import { lookOnce } from '../../cli/plan/one-look.ts';
import type { Forecast, Quantiles } from '../../cli/forecast/schema.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { runScenario } from '../../simulator/run/run.ts';
import type { World } from '../../simulator/run/world.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import { answeringLate, ASKED_AT_MS, hiddenRack, type Otherwise } from './hidden.ts';

/** FORECAST_RACKS and FORECAST_RUNS look closer. */
const racks = Number(process.env['FORECAST_RACKS'] ?? '20');
const runs = Number(process.env['FORECAST_RUNS'] ?? '12');

vi.setConfig({ testTimeout: 60_000 + racks * runs * 2_000 });

interface Compared {
  name: string;
  forecast: Forecast;
  truth: Played;
}

async function compare(text: string): Promise<Compared> {
  const scenario = loadScenario(text, 'hidden.json');
  const product = await loadProduct();
  let world: World | undefined;
  const invariants = (made: World) => {
    world = made;
    return { check: () => [], atEnd: () => [] };
  };
  await runScenario(scenario, { product, invariants, until: ASKED_AT_MS });
  if (world === undefined) throw new Error('nothing was played');
  // All that the forecast gets: the ports of the world as it is at that moment.
  const { account, planReads: reads } = world;
  const read = await readRackFor(lookOnce(account.ports, reads), scenario.rack);
  if ('missing' in read) throw new Error(read.missing);
  const forecast = await forecastOf(read, { runs, seed: 1 }, playHere);
  const result = await runScenario(answeringLate(scenario), { product, invariants, endWhen: hasEnded });
  return { name: scenario.name, forecast, truth: playedFrom(result, scenario) };
}

async function compareAll(count: number, otherwise: Otherwise = {}): Promise<Compared[]> {
  const all: Compared[] = [];
  for (let seed = 1; seed <= count; seed += 1) all.push(await compare(hiddenRack(7_000 + seed, otherwise)));
  return all;
}

/** Of the durations to compliance and to the end, the share that is so. */
function share(all: readonly Compared[], isSo: (truth: number, range: Quantiles) => boolean): number {
  const pairs = all.flatMap(({ forecast: { duration }, truth }) => [
    { truth: truth.toCompliant, range: duration.toCompliant },
    { truth: truth.toEnd, range: duration.toEnd },
  ]);
  const so = pairs.filter(({ truth, range }) => isSo(truth ?? Number.POSITIVE_INFINITY, range));
  return so.length / pairs.length;
}

const upTo = (limit: number | null): number => limit ?? Number.POSITIVE_INFINITY;

/** The figures that are promised, printed for whoever reads the test's output. */
function figures(what: string, all: readonly Compared[]) {
  const found = {
    'P5 to P95, the printed range': share(all, (at, { p5, p95 }) => at >= upTo(p5) && at <= upTo(p95)),
    'P10 to P90': share(all, (at, { p10, p90 }) => at >= upTo(p10) && at <= upTo(p90)),
    'at most P90': share(all, (at, { p90 }) => at <= upTo(p90)),
    'P50 to P90': share(all, (at, { p50, p90 }) => at >= upTo(p50) && at <= upTo(p90)),
  };
  const lines = Object.entries(found).map(([name, value]) => `${name}: ${(100 * value).toFixed(0)} %`);
  console.info(
    `${what}, ${String(all.length)} racks, two durations each, ${String(runs)} runs: ${lines.join('; ')}`,
  );
  return found;
}

/** Nodes that were said to be certain and came otherwise. */
const wronglyCertain = (all: readonly Compared[]): string[] =>
  all.flatMap(({ name, forecast: { modifiedLive }, truth: { modified } }) => [
    ...modifiedLive.certain
      .filter((node) => !modified.has(node))
      .map((node) => `${name}: ${node} was not modified`),
    ...modifiedLive.never.filter((node) => modified.has(node)).map((node) => `${name}: ${node} was modified`),
  ]);

const isPoint = ({ forecast: { duration } }: Compared): boolean =>
  [duration.toCompliant, duration.toEnd].some(({ p5, p95 }) => p5 !== null && p5 === p95);

describe('a forecast and what then came', () => {
  it('holds most of what came, and is right wherever it is certain', async () => {
    const all = await compareAll(racks);
    const found = figures('as foreseen', all);
    expect(found['P5 to P95, the printed range']).toBeGreaterThanOrEqual(0.8);
    expect(found['at most P90']).toBeGreaterThanOrEqual(0.8);
    expect(wronglyCertain(all)).toEqual([]);
    // Looks come now and then, and calls take their time: no moment is foreseen to the second.
    expect(all.filter(isPoint).map(({ name }) => name)).toEqual([]);
    // One that is certain of nothing is never wrong.
    const sure = all.map(({ forecast: { modifiedLive } }) => modifiedLive);
    expect(sure.flatMap(({ certain }) => certain).length).toBeGreaterThan(racks / 4);
    expect(sure.flatMap(({ never }) => never).length).toBeGreaterThan(racks / 4);
  });

  it('is too hopeful where Builds are three times as long as it takes them to be, and certain of nothing wrong', async () => {
    const all = await compareAll(racks / 4, { longer: 3, drainTimeout: '12h' });
    const found = figures('Builds three times as long', all);
    expect(found['at most P90']).toBeLessThan(1);
    expect(wronglyCertain(all)).toEqual([]);
  });
});

describe('how long a Build is taken to run', () => {
  const { buildLength } = priorOf([]);
  const minutes = (ms: number): number => Math.round(ms / 60_000);

  it.each([
    [0, 0.5, 15],
    [0, 0.1, 51],
    [0, 0.9, 4],
    [60, 0.5, 90],
    [60, 0.99, 60],
    [600, 0.5, 882],
  ])('of one that has run for %i minutes a share of %f is longer than %i minutes', (age, part, expected) => {
    expect(minutes(lengthExceededBy(buildLength, age * 60_000, part))).toBe(expected);
  });

  it('is corrected by those that are seen, the more of them the more', () => {
    const [few, many] = [3, 300].map((seen) => priorOf(Array.from({ length: seen }, () => 60 * 60_000)));
    expect(minutes(few?.buildLength.medianMs ?? 0)).toBe(21);
    expect(minutes(many?.buildLength.medianMs ?? 0)).toBe(57);
    expect(many).toMatchObject({ seenBuilds: 300 });
    expect(many?.buildLength.shape).toBeGreaterThan(few?.buildLength.shape ?? Number.POSITIVE_INFINITY);
  });
});

it('tells quantiles by nearest rank, and nothing of what did not end', () => {
  expect(quantiles([5, 1, 4, 2, 3, null, null, null, null, null])).toEqual({
    p5: 1,
    p10: 1,
    p50: 5,
    p90: null,
    p95: null,
  });
  expect(quantiles([7])).toEqual({ p5: 7, p10: 7, p50: 7, p90: 7, p95: 7 });
});
