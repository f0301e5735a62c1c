/** What a NodePool's status says of its nodes. Source: karpenter pkg/controllers/nodepool/counter. */
import type { Karpenter } from './karpenter.ts';
import { nodePoolLabel } from './names.ts';
import { claimCpu } from './placement.ts';

const countMs = 1_000;

export function createPoolCounter(karpenter: Karpenter): void {
  const { process, world } = karpenter;
  const { store } = world;
  const planned = new Set<string>();

  function count(pool: string): void {
    let nodes = 0;
    let cpu = 0;
    for (const claim of store.claimsOf(pool)) {
      nodes += 1;
      cpu += claimCpu(karpenter, claim);
    }
    store.update('NodePool', pool, (current) => ({
      ...current,
      status: { ...current.status, nodes, resources: { cpu: String(cpu), nodes: String(nodes) } },
    }));
  }

  function plan(pool: string | undefined): void {
    if (pool === undefined || planned.has(pool)) return;
    planned.add(pool);
    process.after(countMs, () => {
      planned.delete(pool);
      count(pool);
    });
  }

  store.watch('NodeClaim', ({ before, after }) => {
    if (before !== undefined && after !== undefined && before.status?.capacity === after.status?.capacity)
      return;
    plan((after ?? before)?.metadata.labels?.[nodePoolLabel]);
  });
  process.onStop(() => {
    planned.clear();
  });
  process.onStart(() => {
    for (const { metadata } of store.all('NodePool')) plan(metadata.name);
  });
}
