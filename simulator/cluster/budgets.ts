/** A NodePool's disruption budgets. Source: karpenter pkg/apis/v1/nodepool.go and BuildDisruptionBudgetMapping. */
import type { NodePool } from '../../rollout/kubernetes.ts';
import { isTrue } from './conditions.ts';
import { nextCronHit } from './cron.ts';
import { isDeleting, isInitialized, type Karpenter } from './karpenter.ts';
import { parseGoDuration } from './names.ts';

type Budgets = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>;

export type DisruptionReason = 'Empty' | 'Drifted';

/** The smallest of the budgets that are active and meant for the reason; a percentage is rounded up. */
function allowedByBudgets(pool: NodePool, nodes: number, reason: DisruptionReason, at: Date): number {
  let allowed = Number.MAX_SAFE_INTEGER;
  const budgets: Budgets = pool.spec.disruption?.budgets ?? [{ nodes: '10%' }];
  for (const budget of budgets) {
    if (budget.reasons?.includes(reason) === false) continue;
    if (!isActive(budget.schedule, budget.duration, at)) continue;
    const scaled = budget.nodes.endsWith('%')
      ? Math.ceil((Number(budget.nodes.slice(0, -1)) * nodes) / 100)
      : Number(budget.nodes);
    allowed = Math.min(allowed, scaled);
  }
  return allowed;
}

function isActive(schedule: string | undefined, duration: string | undefined, at: Date): boolean {
  if (schedule === undefined || duration === undefined) return true;
  const start = new Date(at.getTime() - (parseGoDuration(duration) ?? 0));
  const hit = nextCronHit(schedule, start, at);
  return hit !== undefined;
}

/** How many more nodes of each pool may be disrupted for the reason now. Says so where the budget itself is 0. */
export function disruptionsLeft(karpenter: Karpenter, reason: DisruptionReason): Map<string, number> {
  const { store, clock } = karpenter.world;
  const left = new Map<string, number>();
  for (const pool of store.all('NodePool')) {
    const { name } = pool.metadata;
    let nodes = 0;
    let disrupting = 0;
    for (const claim of store.claimsOf(name)) {
      const node = store.nodeOf(claim);
      // Nodes that are still coming up do not count; those whose instance is being terminated no longer.
      if (!isInitialized(node) || isTrue(claim, 'InstanceTerminating')) continue;
      nodes += 1;
      if (!isTrue(node, 'Ready') || isDeleting(karpenter, claim)) disrupting += 1;
    }
    const allowed = allowedByBudgets(pool, nodes, reason, clock.now());
    left.set(name, Math.max(0, allowed - disrupting));
    if (nodes > 0 && allowed === 0) {
      karpenter.events.publish({
        type: 'Normal',
        reason: 'DisruptionBlocked',
        message: `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
        about: pool,
        dedupeBy: `${pool.metadata.uid}-${reason}`,
        dedupeMs: 60_000,
      });
    }
  }
  return left;
}
