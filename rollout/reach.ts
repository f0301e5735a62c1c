/** Who can reach IMDS under given options: what EC2 and the network let through, never what IAM allows. Pure. */
import type { AllOptions } from './options.ts';

/** From near to far. A hostNetwork pod is in the host's network namespace; a nested container is one further than its pod. */
export const CALLERS = ['host process', 'hostNetwork pod', 'pod', 'nested container'] as const;
export type Caller = (typeof CALLERS)[number];

export const VERSIONS = ['IMDSv1', 'IMDSv2'] as const;
export type Version = (typeof VERSIONS)[number];

/**
 * `refused`: answered with 401, since a token is required. `timesOut`: the token's response does not arrive, so that
 * the caller waits. `off`: the endpoint is disabled, and everybody is answered with 403.
 */
export type Reach = 'yes' | 'refused' | 'timesOut' | 'off';

/** The options that decide, as a class or an instance has them. */
export type ReachOptions = AllOptions & { httpEndpoint?: 'enabled' | 'disabled' };

/**
 * How far the token's response has to travel. Each network namespace is behind a router, which takes one from the
 * packet's TTL and drops it at zero; the limit is the TTL that the response starts with (EC2 User Guide, "Configure
 * the Instance Metadata Service options"). A network plugin that routes once more, an overlay, adds one to both pods.
 */
export const HOPS: Readonly<Record<Caller, number>> = {
  'host process': 1,
  'hostNetwork pod': 1,
  pod: 2,
  'nested container': 3,
};

/**
 * Whether a caller gets an answer. Only the response to the PUT that asks for a token is limited: IMDSv1 asks for
 * none, so under `optional` it works whatever the limit.
 */
export function reachOf(caller: Caller, version: Version, options: ReachOptions): Reach {
  if (options.httpEndpoint === 'disabled') return 'off';
  if (version === 'IMDSv1') return options.httpTokens === 'optional' ? 'yes' : 'refused';
  return options.httpPutResponseHopLimit >= HOPS[caller] ? 'yes' : 'timesOut';
}

/** The versions by which a caller gets an answer. */
export const versionsFor = (caller: Caller, options: ReachOptions): Version[] =>
  VERSIONS.filter((version) => reachOf(caller, version, options) === 'yes');

export interface ReachRow {
  caller: Caller;
  version: Version;
  before: Reach;
  after: Reach;
}

/** Every caller by every version, before and after. */
export const reachTable = (before: ReachOptions, after: ReachOptions): ReachRow[] =>
  CALLERS.flatMap((caller) =>
    VERSIONS.map((version) => ({
      caller,
      version,
      before: reachOf(caller, version, before),
      after: reachOf(caller, version, after),
    })),
  );

/** `gains` and `loses` are about any access at all; the others about one version more, less, or in the other's place. */
export type ReachChange = 'gains' | 'loses' | 'widens' | 'narrows' | 'swaps' | 'keeps' | 'has none';

/** What a change of the versions by which somebody gets an answer is. */
export function changeOf(before: readonly Version[], after: readonly Version[]): ReachChange {
  if (before.length === 0) return after.length === 0 ? 'has none' : 'gains';
  if (after.length === 0) return 'loses';
  const lost = before.some((version) => !after.includes(version));
  if (after.some((version) => !before.includes(version))) return lost ? 'swaps' : 'widens';
  return lost ? 'narrows' : 'keeps';
}
