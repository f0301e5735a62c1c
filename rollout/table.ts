/** The table: what is to hold each build node. Pure: from one look to the holds that are due. */
import { fitsNode, podName } from './builds.ts';
import type { BuildNode, Fleet } from './fleet.ts';
import { BOTH, CORDON, isCordoned, NOTHING, PROTECT, type Want } from './hold.ts';
import type { Pod } from './kubernetes.ts';
import { judge, type Verdict } from './options.ts';
import type { Phase } from './phase.ts';
import type { Options } from './record.ts';

/** How old a cordon must be before what the pods' list says of a node is final: a binding may be in flight. */
export const CORDON_AGE_SECONDS = 10;

/** A Build that waited so long waits because of our cordons; it is given up by its owner at 10 minutes. */
const STARVING_SECONDS = 4 * 60;

export interface Wanted {
  node: BuildNode;
  want: Want;
  /** In words, for the report. */
  why: string;
}

/** A NodeClaim that was not launched so long after the patch is launched from the patched class. */
const LAUNCH_IN_FLIGHT_MS = 60_000;

/** How a build node stands; undefined for one that has no instance yet and will get the class's new options. */
export function verdictOf(
  node: BuildNode,
  target: Options,
  patchedAt: Date | undefined,
): Verdict | undefined {
  if (node.claim !== undefined && node.instanceId === undefined) {
    const created = new Date(node.claim.metadata.creationTimestamp).getTime();
    const afterPatch = patchedAt === undefined || created > patchedAt.getTime() + LAUNCH_IN_FLIGHT_MS;
    return afterPatch || node.hash === 'current' ? undefined : 'unknown';
  }
  return judge(target, node.instance);
}

/** Karpenter replaces it, or has to: wrong, or drifted, or about to be found drifted. */
export const isToBeReplaced = (node: BuildNode, verdict: Verdict | undefined): boolean =>
  verdict === 'wrong' || node.drifted || node.hash === 'stale';

export interface TableInput {
  fleet: Fleet;
  target: Options;
  phase: Phase;
  patchedAt: Date | undefined;
  now: Date;
}

/** What is to hold each node. Nodes that leave are left alone, so is what cannot be judged. */
export function table({ fleet, target, phase, patchedAt, now }: TableInput): Wanted[] {
  const lent = lendings(fleet, target, patchedAt, now);
  return fleet.nodes
    .filter(({ leaving, node, claim }) => !leaving && (node !== undefined || claim !== undefined))
    .flatMap((node): Wanted[] => {
      const verdict = verdictOf(node, target, patchedAt);
      const wanted = wantedHold(node, {
        verdict,
        phase,
        lentTo: lent.get(node.name),
        podsListedAt: fleet.podsListedAt,
      });
      return wanted === undefined ? [] : [{ node, ...wanted }];
    });
}

interface Standing {
  verdict: Verdict | undefined;
  phase: Phase;
  lentTo: string | undefined;
  podsListedAt: Date;
}

function wantedHold(node: BuildNode, standing: Standing): Omit<Wanted, 'node'> | undefined {
  const { verdict, phase, lentTo, podsListedAt } = standing;
  if (phase.kind !== 'settled') return { want: PROTECT, why: 'until the class is Ready' };
  if (node.node === undefined) {
    // Not registered: Karpenter copies what the NodeClaim says to the node, where the table goes on.
    if (verdict === 'wrong' || (node.hash !== 'current' && verdict !== undefined))
      return { want: PROTECT, why: 'its launch may be from the class of before' };
    return verdict === 'unknown' ? undefined : { want: NOTHING, why: 'launched from the class as it is now' };
  }
  if (lentTo !== undefined) return { want: { ...PROTECT, lentTo }, why: `${lentTo} waits for a node` };
  if (verdict === 'unknown') return undefined;
  if (!isToBeReplaced(node, verdict)) {
    return node.hash === 'unsettled' && node.claim !== undefined
      ? { want: PROTECT, why: 'Karpenter has not compared it with the class yet' }
      : { want: NOTHING, why: 'right, and not to be replaced' };
  }
  if (node.builds.length > 0) return { want: BOTH, why: `runs ${node.builds.join(', ')}` };
  return isCordonSettled(node, podsListedAt)
    ? { want: CORDON, why: 'runs no Build: Karpenter takes it' }
    : { want: BOTH, why: 'its cordon is too young for the list of pods to be final' };
}

/** Our cordon is in force, and was old enough when the pods were listed. */
function isCordonSettled(node: BuildNode, podsListedAt: Date): boolean {
  const cordonedAt = node.hold?.cordonedAt;
  return (
    cordonedAt !== undefined &&
    node.node !== undefined &&
    isCordoned(node.node) &&
    podsListedAt.getTime() - new Date(cordonedAt).getTime() >= CORDON_AGE_SECONDS * 1000
  );
}

const waitedSeconds = (pod: Pod, now: Date): number =>
  (now.getTime() - new Date(pod.metadata.creationTimestamp).getTime()) / 1000;

/**
 * The nodes that are uncordoned again for a Build that starves, by node name: those that still wait for theirs, and
 * one more for each Build that has none. Nodes that are right already come first: they leave later anyway.
 */
function lendings(
  fleet: Fleet,
  target: Options,
  patchedAt: Date | undefined,
  now: Date,
): Map<string, string> {
  const waiting = new Map(fleet.waiting.map((pod) => [podName(pod), pod]));
  const lent = new Map<string, string>();
  const coming = new Map<string, Pod[]>();
  for (const { name, hold, leaving, node, pods } of fleet.nodes) {
    const pod = hold?.lentTo === undefined ? undefined : waiting.get(hold.lentTo);
    // One that leaves, or whose room another Build took, serves nobody: the Build gets another.
    if (!pod || !node || leaving || !fitsNode(pod, node, pods)) continue;
    lent.set(name, podName(pod));
    coming.set(name, [pod]);
  }
  const served = new Set(lent.values());
  const objects = new Map(fleet.nodes.map((each) => [each.name, each]));
  const candidates = fleet.nodes
    // A cordon that was there before us stays, whatever we lift.
    .filter(
      ({ node, leaving, hold }) =>
        node && !leaving && hold?.cordonedAt !== undefined && !hold.before.unschedulable && isCordoned(node),
    )
    .filter(({ node }) =>
      node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    )
    .sort((a, b) => rank(a, target, patchedAt) - rank(b, target, patchedAt));
  for (const [name, pod] of waiting) {
    if (served.has(name) || waitedSeconds(pod, now) < STARVING_SECONDS) continue;
    const fits = (node: BuildNode | undefined): boolean =>
      node?.node !== undefined && fitsNode(pod, node.node, [...node.pods, ...(coming.get(node.name) ?? [])]);
    const open = [...lent.keys()].find((node) => fits(objects.get(node)));
    const chosen = open ?? candidates.find((node) => !lent.has(node.name) && fits(node))?.name;
    if (chosen === undefined) continue;
    coming.set(chosen, [...(coming.get(chosen) ?? []), pod]);
    if (open === undefined) lent.set(chosen, name);
  }
  return lent;
}

const rank = (node: BuildNode, target: Options, patchedAt: Date | undefined): number =>
  verdictOf(node, target, patchedAt) === 'right' ? 0 : 1;
