/** Why a node is still there: what it waits for, by name. Pure. */
import type { BuildNode } from './fleet.ts';
import type { Event, Pod, PodDisruptionBudget } from './kubernetes.ts';
import { podName } from './builds.ts';
import { DO_NOT_DISRUPT, NODECLASS_HASH_VERSION } from './naming.ts';

/** What blocks on a pod: `true`, or for how long (a Go duration); any other value blocks nothing. */
const BLOCKING = /^(?:true|(?:[\d.]+(?:ns|us|µs|ms|s|m|h))+)$/;

/** Karpenter repeats itself sooner: an older message may be about what has passed. */
const FRESH_MS = 15 * 60_000;

export interface Signs {
  /** Karpenter's events about nodes, NodeClaims and NodePools. */
  events: readonly Event[];
  budgets: readonly PodDisruptionBudget[];
}

/** What a node to be replaced waits for, in words; the most particular cause first. */
export function waitsFor(node: BuildNode, signs: Signs, now: Date): string {
  if (node.builds.length > 0) return `Build ${node.builds.join(', ')}`;
  if (node.hold?.before.doNotDisrupt === 'true')
    return `its own annotation ${DO_NOT_DISRUPT}, which is not ours`;
  const blocking = node.pods.map((pod) => blockedBy(pod, signs.budgets)).find((why) => why !== undefined);
  return blocking ?? saidByKarpenter(node, signs.events, now) ?? 'Karpenter, within its budgets';
}

/**
 * Why Karpenter will not replace a node whose instance is wrong: by the hashes the node is of the class as it is, and
 * of hashes alone does Karpenter know it. undefined where it sees the drift, or may come to see it.
 */
export function driftUnseen(
  { claim, drifted, hash }: BuildNode,
  patchedAt: Date | undefined,
): string | undefined {
  if (claim === undefined || drifted || hash !== 'current') return undefined;
  const version = claim.metadata.annotations?.[NODECLASS_HASH_VERSION] ?? '';
  return patchedAt !== undefined && Date.parse(claim.metadata.creationTimestamp) < patchedAt.getTime()
    ? `Karpenter sees no drift: it stamped the NodeClaim with the hash of the class as it is, as an upgrade to another hash version (now ${version}) does`
    : 'Karpenter sees no drift: the instance was changed after it was launched from the class as it is';
}

function blockedBy(pod: Pod, budgets: readonly PodDisruptionBudget[]): string | undefined {
  if (BLOCKING.test(pod.metadata.annotations?.[DO_NOT_DISRUPT] ?? ''))
    return `pod ${podName(pod)}, which is annotated ${DO_NOT_DISRUPT}`;
  const budget = budgets.find((each) => covers(each, pod) && each.status?.disruptionsAllowed === 0);
  return (
    budget && `PodDisruptionBudget ${budget.metadata.name}, which allows no eviction of pod ${podName(pod)}`
  );
}

function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  const wanted = Object.entries(budget.spec.selector?.matchLabels ?? {});
  return (
    budget.metadata.namespace === pod.metadata.namespace &&
    wanted.length > 0 &&
    wanted.every(([key, value]) => pod.metadata.labels?.[key] === value)
  );
}

/** Karpenter's words for a node that is annotated do-not-disrupt. */
export const isOfAnnotation = (message: string): boolean =>
  message.startsWith('Disruption is blocked through');

/** Karpenter's words for a node that a pod is about to be bound to: it is so for 20 seconds, and passes by itself. */
const NOMINATED = 'Node is nominated for a pending pod';

function saidByKarpenter(node: BuildNode, events: readonly Event[], now: Date): string | undefined {
  const since = Math.max(now.getTime() - FRESH_MS, stateSince(node));
  const said = events
    .filter(({ reason }) => reason === 'DisruptionBlocked')
    .filter((event) => concerns(event, node))
    // That is our own hold, which is known better from the node.
    .filter(({ message }) => !isOfAnnotation(message) && message !== NOMINATED)
    .filter(({ lastTimestamp }) => new Date(lastTimestamp ?? 0).getTime() >= since)
    .sort((a, b) => (b.lastTimestamp ?? '').localeCompare(a.lastTimestamp ?? ''));
  return said[0] && `Karpenter, which says: ${said[0].message}`;
}

/** Of the node or its NodeClaim whatever is said; of its pool what is said of drift, or of every disruption. */
function concerns({ involvedObject: { kind, name }, message }: Event, { node, claim }: BuildNode): boolean {
  if (kind !== 'NodePool') return name === node?.metadata.name || name === claim?.metadata.name;
  const isOfDrift = message.includes('Drifted') || !message.includes('disruption reason');
  return name === claim?.metadata.labels?.['karpenter.sh/nodepool'] && isOfDrift;
}

/** Since when it has been up, and drifted where it has: what kept it before, e.g. from starting, has passed. */
const stateSince = ({ claim }: BuildNode): number =>
  Math.max(
    0,
    ...(claim?.status?.conditions ?? [])
      .filter(({ type, status }) => status === 'True' && (type === 'Initialized' || type === 'Drifted'))
      .map(({ lastTransitionTime }) => new Date(lastTransitionTime ?? 0).getTime()),
  );
