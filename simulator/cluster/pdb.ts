/** PodDisruptionBudgets: what they allow, and the eviction API that asks them. */
import type { Pod, PodDisruptionBudget } from '../../rollout/kubernetes.ts';
import { isActive } from './pods.ts';
import type { Store } from './store.ts';
import type { World } from './types.ts';

export interface DisruptionBudgets {
  /** Makes the budget where it does not exist yet; `evictable: false` allows no eviction at all. */
  cover(name: string, namespace: string, labels: Record<string, string>, evictable: boolean): void;
  covering(pod: Pod): PodDisruptionBudget[];
  /** Takes one allowed disruption for the eviction of this pod; false where a budget allows none (429). */
  take(pod: Pod): boolean;
}

function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  if (budget.metadata.namespace !== pod.metadata.namespace) return false;
  const labels = Object.entries(budget.spec.selector?.matchLabels ?? {});
  return labels.length > 0 && labels.every(([key, value]) => pod.metadata.labels?.[key] === value);
}

function isFullyBlocking({ spec }: PodDisruptionBudget): boolean {
  return 'maxUnavailable' in spec && spec.maxUnavailable === 0;
}

/** Nothing ever evicts the pod, so Karpenter makes no room for it elsewhere. Source: karpenter pkg/utils/pdb. */
export function isFullyBlocked(store: Store, pod: Pod): boolean {
  for (const budget of store.all('PodDisruptionBudget'))
    if (isFullyBlocking(budget) && covers(budget, pod)) return true;
  return false;
}

export function createDisruptionBudgets(world: World): DisruptionBudgets {
  const { store, clock, chance } = world;
  /** The disruption controller: one pod at a time, and none while one is missing. */
  function recount(name: string): void {
    const budget = store.get('PodDisruptionBudget', name);
    if (budget === undefined) return;
    let expected = 0;
    let healthy = 0;
    for (const pod of store.all('Pod')) {
      if (!covers(budget, pod)) continue;
      expected += 1;
      if (isActive(pod) && pod.status?.phase === 'Running') healthy += 1;
    }
    const disruptionsAllowed = isFullyBlocking(budget) ? 0 : Math.max(0, healthy - Math.max(0, expected - 1));
    store.update('PodDisruptionBudget', name, (current) => ({
      ...current,
      status: { ...current.status, disruptionsAllowed },
    }));
  }

  function covering(pod: Pod): PodDisruptionBudget[] {
    if (store.count('PodDisruptionBudget') === 0) return [];
    return [...store.all('PodDisruptionBudget')].filter((budget) => covers(budget, pod));
  }

  store.watch('Pod', ({ before, after }) => {
    const pod = after ?? before;
    if (pod === undefined || store.count('PodDisruptionBudget') === 0) return;
    for (const { metadata } of covering(pod)) {
      clock.after(chance.between(50, 300), () => {
        recount(metadata.name);
      });
    }
  });

  return {
    cover: (name, namespace, matchLabels, evictable) => {
      const spec = { selector: { matchLabels }, maxUnavailable: evictable ? 1 : 0 };
      if (store.get('PodDisruptionBudget', name) === undefined) {
        store.create('PodDisruptionBudget', {
          kind: 'PodDisruptionBudget',
          metadata: { name, namespace },
          spec,
          status: { disruptionsAllowed: 0 },
        });
      } else if (!evictable) {
        store.update('PodDisruptionBudget', name, (current) => ({ ...current, spec }));
      }
      recount(name);
    },
    covering,
    take: (pod) => {
      const budgets = covering(pod);
      if (budgets.length > 1) return false;
      const budget = budgets[0];
      if (budget === undefined) return true;
      const allowed = budget.status?.disruptionsAllowed ?? 0;
      if (allowed <= 0) return false;
      store.update('PodDisruptionBudget', budget.metadata.name, (current) => ({
        ...current,
        status: { ...current.status, disruptionsAllowed: allowed - 1 },
      }));
      return true;
    },
  };
}
