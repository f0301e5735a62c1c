/**
 * A forecast: the rack as it is, played many times with the real functions and workflow, and with what cannot be known
 * drawn from a stated prior. What it says is shares of these runs.
 */
import { createChance } from '../../simulator/account/chance.ts';
import type { RunResult } from '../../simulator/run/result.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import { isUnderWay } from './from-live.ts';
import type { PlayAll } from './play.ts';
import { priorText } from './prior.ts';
import type { ReadRack } from './read.ts';
import type { Runs } from './runs.ts';
import { atBest, atWorst, sampleOf } from './sample.ts';
import type { Forecast, Quantiles } from './schema.ts';

/** `playAll`: here, or in threads where this one's clock is needed meanwhile. */
export async function forecastOf(
  { live, prior, text, couldNotExpress, builds }: ReadRack,
  { runs, seed }: Runs,
  playAll: PlayAll,
): Promise<Forecast> {
  const base = loadScenario(text, `rack ${live.rack}`);
  const from = isUnderWay(live) ? live.at : undefined;
  // One for all runs, which draw from it in turn.
  const chance = createChance(seed);
  const samples = Array.from({ length: runs }, () => sampleOf(base, prior, chance));
  const results = await playAll([atBest(base, prior), atWorst(base, prior), ...samples]);
  const [best, worst, ...played] = results.map((result) => playedFrom(result, base, from));
  if (best === undefined || worst === undefined) throw new Error('nothing was played');
  const virtualSeconds = played.reduce((sum, each) => sum + each.virtualSeconds, 0);
  return {
    runs,
    seed,
    virtualHours: Math.round(virtualSeconds / 360) / 10,
    prior: { words: priorText(prior), numbers: prior },
    duration: {
      from: from === undefined ? 'start' : 'now',
      toCompliant: quantiles(played.map(({ toCompliant }) => toCompliant)),
      toEnd: quantiles(played.map(({ toEnd }) => toEnd)),
    },
    modifiedLive: modifiedLive(base, played, { best, worst }),
    buildsAtRisk: buildsAtRisk(played, worst, builds),
    waits: waitsOf(base, played, builds),
    outcomes: shares(played.map(({ outcome }) => outcome)),
    couldNotExpress: [
      ...couldNotExpress,
      'which Builds use IMDS, and how: whether one that is changed under notices it is not foreseen',
    ],
  };
}

/** Of one run, what a forecast is made of. Durations in seconds; null where it did not come to it. */
export interface Played {
  outcome: string;
  toCompliant: number | null;
  toEnd: number | null;
  /** Names of nodes that there were at the start. */
  modified: ReadonlySet<string>;
  builds: RunResult['builds'];
  virtualSeconds: number;
}

/** `from`: what durations are counted from; the start of the first rollout where nothing is said. */
export function playedFrom(
  { rollouts, outcome, instances, builds, virtualSeconds }: RunResult,
  { startsAt }: Pick<Scenario, 'startsAt'>,
  from?: Date,
): Played {
  const told = rollouts.filter((each) => each.outcome !== 'NothingToDo' && each.outcome !== 'Superseded');
  const last = told.at(-1) ?? rollouts.at(-1);
  const begin = from?.getTime() ?? Date.parse(rollouts[0]?.startedAt ?? startsAt);
  const since = (at: string | null | undefined): number | null =>
    at === null || at === undefined ? null : Math.round((Date.parse(at) - begin) / 1_000);
  return {
    outcome: outcome ?? 'unfinished',
    toCompliant: since(last?.compliantAt),
    toEnd: since(last?.endedAt),
    modified: new Set(
      instances.flatMap(({ node, atStart, modifiedAt }) =>
        node !== null && atStart !== null && modifiedAt !== null ? [node] : [],
      ),
    ),
    builds,
    virtualSeconds,
  };
}

/** By nearest rank, outwards: the least value that a share of the runs does not exceed. null: beyond all that ended. */
export function quantiles(values: readonly (number | null)[]): Quantiles {
  const sorted = values.map((value) => value ?? Number.POSITIVE_INFINITY).sort((one, other) => one - other);
  const at = (share: number): number | null => {
    const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(value) ? value : null;
  };
  return { p5: at(0.05), p10: at(0.1), p50: at(0.5), p90: at(0.9), p95: at(0.95) };
}

interface Extremes {
  best: Played;
  worst: Played;
}

/**
 * A node is certain to be modified if it is in every run, in that at best too; it never is if it is in none, in that at
 * worst neither. In between, chance decides.
 */
function modifiedLive(
  { nodes }: Scenario,
  played: readonly Played[],
  { best, worst }: Extremes,
): Forecast['modifiedLive'] {
  const found: Forecast['modifiedLive'] = { certain: [], probable: [], possible: [], never: [] };
  for (const { name: node } of nodes) {
    const share = shareOf(played, ({ modified }) => modified.has(node));
    const [surely, maybe] = [best.modified.has(node), worst.modified.has(node)];
    if (share === 1 && surely && maybe) found.certain.push(node);
    else if (share >= 0.5) found.probable.push({ node, share });
    else if (share > 0 || surely || maybe) found.possible.push({ node, share });
    else found.never.push(node);
  }
  return found;
}

const shareOf = (played: readonly Played[], isSo: (one: Played) => boolean): number =>
  rounded(played.filter(isSo).length / played.length);

/** Three digits: more would be of no run. */
const rounded = (share: number): number => Math.round(share * 1_000) / 1_000;

function buildsAtRisk(
  played: readonly Played[],
  worst: Played,
  names: ReadonlyMap<string, string>,
): Forecast['buildsAtRisk'] {
  return worst.builds.flatMap((last) => {
    const share = (isSo: (build: RunResult['builds'][number]) => boolean): number =>
      shareOf(played, ({ builds }) => builds.some((build) => build.name === last.name && isSo(build)));
    const evicted = share(({ outcome }) => outcome === 'evicted');
    const givenUp = share(({ outcome }) => outcome === 'givenUp');
    const changedUnder = share((build) => build.changedUnder);
    const isAtRisk = evicted + givenUp + changedUnder > 0 || last.changedUnder || last.outcome === 'evicted';
    return isAtRisk
      ? [{ build: names.get(last.name) ?? last.name, node: last.node, evicted, givenUp, changedUnder }]
      : [];
  });
}

/** Of Builds that have no node yet. */
function waitsOf(
  { timeline }: Scenario,
  played: readonly Played[],
  names: ReadonlyMap<string, string>,
): Forecast['waits'] {
  return timeline.flatMap(({ action }) => {
    if (action.kind !== 'build') return [];
    const { name } = action.build;
    const waited = played.map(
      ({ builds }) => builds.find((build) => build.name === name)?.waitedSeconds ?? null,
    );
    const { p50, p90 } = quantiles(waited);
    return [{ build: names.get(name) ?? name, p50, p90 }];
  });
}

function shares(outcomes: readonly string[]): Record<string, number> {
  const groups = Object.entries(Object.groupBy(outcomes, (outcome) => outcome));
  return Object.fromEntries(
    groups.map(([outcome, all]) => [outcome, rounded((all?.length ?? 0) / outcomes.length)]),
  );
}
