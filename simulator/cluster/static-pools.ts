/** Static NodePools (spec.replicas). Source: karpenter pkg/controllers/static and state/statenodepool.go. */
import { isTrue } from './conditions.ts';
import type { Karpenter } from './karpenter.ts';
import { Ticker } from './process.ts';

interface Counts {
  running: number;
  pendingDisruption: number;
  deleting: number;
}

function counts(karpenter: Karpenter, pool: string): Counts {
  const result: Counts = { running: 0, pendingDisruption: 0, deleting: 0 };
  for (const claim of karpenter.world.store.claimsOf(pool)) {
    if (claim.metadata.deletionTimestamp !== undefined) result.deleting += 1;
    else if (karpenter.marked.has(claim.metadata.name)) result.pendingDisruption += 1;
    else result.running += 1;
  }
  return result;
}

/** How many nodes of a static pool may be replaced now: none without room below limits.nodes, and nobody is told. */
export function headroom(karpenter: Karpenter, poolName: string): number {
  const pool = karpenter.world.store.get('NodePool', poolName);
  if (pool?.spec.replicas === undefined) return 0;
  const { running, pendingDisruption, deleting } = counts(karpenter, poolName);
  if (running + pendingDisruption > pool.spec.replicas) return 0;
  const limit = pool.spec.limits?.['nodes'];
  if (limit === undefined) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, Number(limit) - running - pendingDisruption - deleting);
}

/** Keeps every static pool at its replicas. */
export function createStaticPools(karpenter: Karpenter, createClaim: (pool: string) => void): void {
  const { process, world } = karpenter;
  const { store } = world;

  function fill(): boolean {
    let short = false;
    for (const pool of [...store.all('NodePool')]) {
      if (pool.spec.replicas === undefined || !isTrue(pool, 'Ready')) continue;
      const { name } = pool.metadata;
      const { running, pendingDisruption, deleting } = counts(karpenter, name);
      const missing = pool.spec.replicas - running - pendingDisruption;
      if (missing <= 0) continue;
      const limit = Number(pool.spec.limits?.['nodes'] ?? Number.MAX_SAFE_INTEGER);
      const allowed = Math.min(missing, Math.max(0, limit - running - pendingDisruption - deleting));
      for (let made = 0; made < allowed; made += 1) createClaim(name);
      if (allowed < missing) short = true;
    }
    return short;
  }

  // Looked at again 30 s later while a limit keeps a pool short.
  const ticker = new Ticker(
    (milliseconds, action) => {
      process.after(milliseconds, action);
    },
    30_000,
    fill,
  );
  const staticPoolOf = (name: string | undefined): boolean =>
    name !== undefined && store.get('NodePool', name)?.spec.replicas !== undefined;
  store.watch('NodeClaim', ({ before, after }) => {
    const left =
      after === undefined || after.metadata.deletionTimestamp !== before?.metadata.deletionTimestamp;
    if (left && staticPoolOf((after ?? before)?.metadata.labels?.['karpenter.sh/nodepool']))
      ticker.wake(1_000);
  });
  store.watch('NodePool', ({ before, after }) => {
    if (after?.spec.replicas === undefined) return;
    if (before === undefined || isTrue(after, 'Ready') !== isTrue(before, 'Ready')) ticker.wake(60_000);
  });
  process.onStop(() => {
    ticker.reset();
  });
  process.onStart(() => {
    ticker.wake(5_000);
  });
}
