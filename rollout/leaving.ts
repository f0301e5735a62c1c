/** Why a node goes: Karpenter's disruptions, which a rollout sets off, told apart from all that comes without one. Pure. */
import type { BuildNode } from './fleet.ts';
import type { Condition, Event, Node, NodeClaim } from './kubernetes.ts';

/**
 * - `disrupted`: by a command of Karpenter's: Drifted, Empty or Underutilized.
 * - `interrupted`: EC2 takes the instance back, or says that it stops.
 * - `expired`: the NodeClaim has reached its expireAfter.
 * - `repaired`: the node was not healthy, and Karpenter's node repair takes it.
 * - `deleted`: by a person or another controller.
 */
export const causes = ['disrupted', 'interrupted', 'expired', 'repaired', 'deleted'] as const;

export interface Leaving {
  cause: (typeof causes)[number];
  /** In words, with Karpenter's own where it has some. */
  why: string;
}

/**
 * Reasons of Karpenter's Events that name a cause. TerminatingOnInterruption is written only where the interruption
 * itself deletes the NodeClaim, DisruptionTerminating where a disruption does.
 */
const SAID: Record<string, Leaving['cause']> = {
  SpotInterrupted: 'interrupted',
  TerminatingOnInterruption: 'interrupted',
  DisruptionTerminating: 'disrupted',
};

/** Node repair sets this to the moment of the deletion; a terminationGracePeriod sets it to a later one. */
const TERMINATION_TIMESTAMP = 'karpenter.sh/nodeclaim-termination-timestamp';

/** What a timestamp of whole seconds may be late by. */
const SECOND_MS = 1000;

/** Of a node whose NodeClaim is being deleted; undefined of any other. */
export function leavingOf({ claim, node }: BuildNode, events: readonly Event[]): Leaving | undefined {
  if (claim?.metadata.deletionTimestamp === undefined) return undefined;
  const names = new Set([claim.metadata.name, node?.metadata.name]);
  const said = events
    .filter(({ involvedObject }) => names.has(involvedObject.name))
    .flatMap((event) => saidBy(event) ?? []);
  const named = said.find(({ cause }) => cause === 'interrupted') ?? said[0];
  if (named?.cause === 'interrupted') return named;
  const disrupted = find(claim.status?.conditions, 'DisruptionReason');
  if (disrupted?.status === 'True')
    return { cause: 'disrupted', why: `Karpenter replaced it: ${disrupted.reason ?? 'DisruptionReason'}` };
  if (named !== undefined) return named;
  const at = Date.parse(claim.metadata.deletionTimestamp) + SECOND_MS;
  const expiresAt = expiryOf(claim);
  if (expiresAt !== undefined && at >= expiresAt.getTime()) return expired(expiresAt);
  const terminated = Date.parse(claim.metadata.annotations?.[TERMINATION_TIMESTAMP] ?? '');
  const unready = node && unreadySince(node);
  if (unready !== undefined && terminated <= at) return repaired(unready);
  return { cause: 'deleted', why: 'its NodeClaim was deleted, by a person or another controller' };
}

/** What an Event of Karpenter's says about why a node goes. */
export function saidBy({ reason, message }: Event): Leaving | undefined {
  const cause = SAID[reason];
  return cause && { cause, why: `${reason}: ${message}` };
}

export const expired = (at: Date): Leaving => ({
  cause: 'expired',
  why: `it reached its expireAfter at ${at.toISOString()}`,
});

export const repaired = (since: string): Leaving => ({
  cause: 'repaired',
  why: `node repair: it has not been Ready since ${since}`,
});

/** When Karpenter deletes the NodeClaim whatever holds it; undefined where never. */
export function expiryOf({ metadata, spec }: NodeClaim): Date | undefined {
  const lifetime = durationMs(spec.expireAfter);
  return lifetime === undefined ? undefined : new Date(Date.parse(metadata.creationTimestamp) + lifetime);
}

/** Since when a node that was Ready is not any more; undefined while it is. */
export function unreadySince({ status }: Node): string | undefined {
  const ready = find(status?.conditions, 'Ready');
  return ready === undefined || ready.status === 'True' ? undefined : ready.lastTransitionTime;
}

const find = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((each) => each.type === type);

const UNITS: Record<string, number> = { h: 3_600_000, m: 60_000, s: SECOND_MS };

/** Of a Go duration such as `720h` or `1h30m`; undefined for `Never` and where there is none. */
function durationMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^(\d+[hms])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([hms])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0),
    0,
  );
}
