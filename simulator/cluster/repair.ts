/**
 * Node repair, Karpenter's feature gate: a node that has not been Ready for 30 minutes goes, with its pods, unless more
 * than a fifth of its pool is like that. Neither budgets nor annotations keep it. Source: karpenter
 * pkg/controllers/node/health.
 */
import { isTrue, transitionOf } from './conditions.ts';
import { deleteClaim, type Karpenter } from './karpenter.ts';
import { nodePoolLabel, stamp, terminationTimestamp } from './names.ts';
import { now } from './types.ts';

const tolerationMs = 30 * 60_000;
const allowedUnhealthy = 0.2;

export function createNodeRepair(karpenter: Karpenter): void {
  const { world, process } = karpenter;
  const { store, clock } = world;

  function repair(name: string): void {
    const node = store.get('Node', name);
    const claim = node && store.claimOf(node);
    if (node === undefined || claim === undefined) return;
    if (isTrue(node, 'Ready') || claim.metadata.deletionTimestamp !== undefined) return;
    const left = transitionOf(node, 'Ready') + tolerationMs - now(world);
    if (left > 0) {
      later(name, left);
      return;
    }
    if (!isHealthy(claim.metadata.labels?.[nodePoolLabel] ?? '')) return;
    store.update('NodeClaim', claim.metadata.name, (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        annotations: { ...current.metadata.annotations, [terminationTimestamp]: stamp(clock.now()) },
      },
    }));
    deleteClaim(karpenter, claim, 'repair');
  }

  function isHealthy(pool: string): boolean {
    const nodes = [...store.claimsOf(pool)]
      .map((claim) => store.nodeOf(claim))
      .filter((node) => node !== undefined);
    const unhealthy = nodes.filter((node) => !isTrue(node, 'Ready')).length;
    return unhealthy <= Math.ceil(nodes.length * allowedUnhealthy);
  }

  function later(name: string, milliseconds: number): void {
    process.after(milliseconds, () => {
      repair(name);
    });
  }

  store.watch('Node', ({ before, after }) => {
    if (before === undefined || after === undefined) return;
    if (isTrue(before, 'Ready') && !isTrue(after, 'Ready')) later(after.metadata.name, tolerationMs);
  });
  process.onStart(() => {
    for (const node of store.all('Node')) if (!isTrue(node, 'Ready')) later(node.metadata.name, 2_000);
  });
}
