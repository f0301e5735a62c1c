/**
 * Racks whose Builds, delays and failures nobody but this file knows: what a forecast is held against. Lengths of Builds
 * are log-normal (median 15 minutes, σ = 1; another family than the forecast's own), given that each has run for as
 * long as it has; delays are uniform within the ranges that the forecast states. One rack in four meets a failure that
 * no forecast counts with: no capacity for ten minutes, EC2 that throttles, Karpenter away, a function that dies.
 */
import { priorOf } from '../../cli/forecast/prior.ts';
import { createChance } from '../../simulator/account/chance.ts';
import type { Chance } from '../../simulator/parts.ts';
import { apiWildcards } from '../../simulator/scenario/names.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';

/** When the parameters are set, and the forecast is made. */
export const ASKED_AT_MS = 60_000;

const MEDIAN_S = 15 * 60;

export interface Otherwise {
  /** How many times as long as the forecast takes Builds to be. */
  longer?: number;
  drainTimeout?: string;
}

/** As JSON, which is YAML. */
export function hiddenRack(seed: number, { longer = 1, drainTimeout }: Otherwise = {}): string {
  const chance = createChance(seed);
  const pick = <T>(...words: readonly [T, ...T[]]): T =>
    words[Math.floor(chance.next() * words.length)] ?? words[0];
  const seconds = (low: number, high: number): string => `${String(Math.round(chance.between(low, high)))}s`;
  const nodes = Array.from({ length: 3 + Math.floor(chance.next() * 4) }, (_, index) =>
    nodeOf(chance, index, longer),
  );
  const fails = chance.next() < 0.25;
  const failure = pick('capacity', 'throttling', 'away', 'crash');
  const is = (what: string): boolean => fails && failure === what;
  return JSON.stringify({
    name: `hidden-${String(seed)}`,
    seed,
    runFor: '4d',
    parameters: {
      imds_http_tokens: 'optional',
      imds_http_hop_limit: '3',
      karpenter_enabled: 'true',
      build_node_enabled: 'true',
      imds_rollout_deadline: pick('5m', '15m', '30m', '60m'),
      imds_rollout_drain_timeout: drainTimeout ?? pick('30m', '1h', '2h'),
      imds_rollout_strategy: pick('graceful', 'graceful', 'graceful', 'immediate'),
    },
    classes: { build: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } },
    pools: { build: { budgets: [{ nodes: pick('100%', '25%', '1') }] } },
    nodes,
    timeline: [
      { at: '60s', set: { karpenter_build_imds_tokens: 'required' } },
      ...(is('away') ? [{ at: '3m', karpenter: { stop: '6m' } }] : []),
      ...(is('crash') ? [{ at: '2m', crash: { function: 'observe', when: 'after' } }] : []),
    ],
    faults: is('throttling')
      ? [{ api: 'ec2:ModifyInstanceMetadataOptions', error: 'RequestLimitExceeded', share: 0.5 }]
      : [],
    karpenter: {
      launch: seconds(20, 75),
      register: seconds(15, 60),
      initialize: seconds(5, 40),
      classReady: seconds(1, 8),
      capacity: is('capacity') ? 'after:10m' : 'ok',
    },
    ec2: { applyDelay: seconds(1, 5) },
  });
}

/** Each service takes its own time to answer, where a forecast takes one for all of them. */
export function answeringLate(scenario: Scenario): Scenario {
  const chance = createChance(~scenario.seed);
  const { lowMs, highMs } = priorOf([]).call;
  const late = apiWildcards.map((api) => ({
    ...{ api, error: null, from: 0, until: null, share: 1 },
    latency: Math.round(lowMs * (highMs / lowMs) ** chance.next()),
  }));
  return { ...scenario, faults: [...scenario.faults, ...late] };
}

function nodeOf(chance: Chance, index: number, longer: number): object {
  const name = `n${String(index)}`;
  const kind = chance.next();
  if (kind < 0.1) {
    const pod = { name: `cache-${String(index)}`, ownedBy: 'StatefulSet', pdb: `pdb-${String(index)}` };
    return { name, pool: 'build', pods: [{ ...pod, evictable: false }] };
  }
  // Wrong or right already, as a node of a rollout that somebody gave up.
  if (kind < 0.2) return { name, pool: 'build', httpTokens: 'required' };
  if (kind < 0.45) return { name, pool: 'build' };
  const age = Math.round(chance.between(0, 40 * 60));
  const build = { name: `b${String(index)}`, startsAt: `-${String(age)}s` };
  return {
    name,
    pool: 'build',
    builds: [{ ...build, runsFor: `${String(lengthOver(chance, age, longer))}s` }],
  };
}

/** Drawn until it is longer than the Build has run by the time of the forecast. */
function lengthOver(chance: Chance, age: number, longer: number): number {
  for (;;) {
    const normal = Math.sqrt(-2 * Math.log(1 - chance.next())) * Math.cos(2 * Math.PI * chance.next());
    const length = Math.round(longer * MEDIAN_S * Math.exp(normal));
    if (length > age + ASKED_AT_MS / 1_000) return length;
  }
}
