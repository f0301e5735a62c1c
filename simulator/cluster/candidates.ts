/**
 * Which nodes may be disrupted, and what Karpenter says where one may not. Source: karpenter
 * pkg/controllers/disruption/types.go (NewCandidate) and pkg/controllers/state/statenode.go.
 */
import type { Node, NodeClaim, NodePool, Pod } from '../../rollout/kubernetes.ts';
import { isDeleting, isInitialized, isNominated, poolOf, type Karpenter } from './karpenter.ts';
import { doNotDisrupt, nodePoolLabel } from './names.ts';
import type { DisruptionBudgets } from './pdb.ts';
import { isActive, isEvictable, isReschedulable, protectsItself } from './pods.ts';
import { now } from './types.ts';

export interface Candidate {
  node: Node;
  claim: NodeClaim;
  pool: NodePool;
  /** Pods that have to run somewhere else. */
  pods: Pod[];
  /** A pod blocks it, so that only eventual disruption under a terminationGracePeriod may take it. */
  podBlocked: boolean;
}

/** All nodes that pass; says of every other one why not, whether it has drifted or not. */
export function candidates(
  karpenter: Karpenter,
  budgets: DisruptionBudgets,
  inCommand: (claim: string) => boolean,
): Candidate[] {
  const found: Candidate[] = [];
  for (const claim of karpenter.world.store.all('NodeClaim')) {
    if (inCommand(claim.metadata.name)) continue;
    const candidate = candidateOf(karpenter, budgets, claim);
    if (candidate !== undefined) found.push(candidate);
  }
  return found;
}

export function candidateOf(
  karpenter: Karpenter,
  budgets: DisruptionBudgets,
  claim: NodeClaim,
): Candidate | undefined {
  const { store } = karpenter.world;
  const node = store.nodeOf(claim);
  const obstacle = nodeObstacle(karpenter, claim, node);
  if (obstacle !== undefined || node === undefined) {
    publishBlocked(karpenter, node, claim, obstacle ?? '');
    return undefined;
  }
  const pool = poolOf(karpenter, claim);
  if (
    pool === undefined ||
    store.get('EC2NodeClass', pool.spec.template.spec.nodeClassRef.name) === undefined
  ) {
    publishBlocked(
      karpenter,
      node,
      claim,
      `NodePool not found (NodePool=${claim.metadata.labels?.[nodePoolLabel] ?? ''})`,
    );
    return undefined;
  }
  const all = [...store.podsOn(node.metadata.name)];
  const blockedBy = podObstacle(karpenter, budgets, all);
  if (blockedBy !== undefined) {
    publishBlocked(karpenter, node, claim, blockedBy);
    if (claim.spec.terminationGracePeriod === undefined) return undefined;
  }
  return { node, claim, pool, pods: all.filter(isReschedulable), podBlocked: blockedBy !== undefined };
}

function nodeObstacle(karpenter: Karpenter, claim: NodeClaim, node: Node | undefined): string | undefined {
  if (node === undefined) return 'Nodeclaim does not have an associated node';
  if (!isInitialized(node)) return "Node isn't initialized";
  if (isDeleting(karpenter, claim)) return 'Node is deleting or marked for deletion';
  if (isNominated(karpenter, claim)) return 'Node is nominated for a pending pod';
  // Exactly "true", and checked before any terminationGracePeriod.
  if (node.metadata.annotations?.[doNotDisrupt] === 'true') {
    return `Disruption is blocked through the "${doNotDisrupt}" annotation`;
  }
  return undefined;
}

function podObstacle(
  karpenter: Karpenter,
  budgets: DisruptionBudgets,
  pods: readonly Pod[],
): string | undefined {
  const at = now(karpenter.world);
  for (const pod of pods) {
    if (isActive(pod) && protectsItself(pod, at)) {
      return `Pod has "${doNotDisrupt}" annotation (Pod=${pod.metadata.namespace ?? ''}/${pod.metadata.name})`;
    }
  }
  for (const pod of pods) {
    if (!isEvictable(pod, at)) continue;
    const covering = budgets.covering(pod);
    const keys = covering.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).join(' ');
    if (covering.length > 1)
      return `Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[${keys}])`;
    if (covering.some((budget) => (budget.status?.disruptionsAllowed ?? 0) === 0)) {
      return `Pdb prevents pod evictions (PodDisruptionBudget=[${keys}])`;
    }
  }
  return undefined;
}

export function publishBlocked(
  karpenter: Karpenter,
  node: Node | undefined,
  claim: NodeClaim,
  message: string,
): void {
  for (const about of node === undefined ? [claim] : [node, claim]) {
    karpenter.events.publish({ type: 'Normal', reason: 'DisruptionBlocked', message, about });
  }
}
