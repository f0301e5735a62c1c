/** What a pool leaves room for while its nodes are replaced: its limits, its budgets. Pure. */
import { quantity } from './builds.ts';
import type { NodePool } from './kubernetes.ts';

export interface Headroom {
  /** `spec.limits`, with what Karpenter counts as used; `free` null where it does not say. */
  limits: { resource: string; limit: string; used: string | null; free: number | null }[];
  /** `spec.disruption.budgets`, with how many nodes each lets go at a time. */
  budgets: { nodes: string; atOnce: number; reasons: string[]; when: string | null }[];
  /** Of a static pool. */
  replicas: number | null;
}

type Budgets = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>;

/** Karpenter's own where a pool states none (NodePool v1: `budgets` defaults to 10%). */
const DEFAULT_BUDGETS: Budgets = [{ nodes: '10%' }];

/** `nodes`: how many the pool has now, of which a percentage is rounded up as Karpenter does. */
export function headroomOf({ spec, status }: NodePool, nodes: number): Headroom {
  return {
    limits: Object.entries(spec.limits ?? {}).map(([resource, limit]) => {
      const used = resource === 'nodes' ? String(status?.nodes ?? nodes) : status?.resources?.[resource];
      const free = used === undefined ? null : quantity(String(limit)) - quantity(used);
      return { resource, limit: String(limit), used: used ?? null, free };
    }),
    budgets: (spec.disruption?.budgets ?? DEFAULT_BUDGETS).map((budget) => ({
      nodes: budget.nodes,
      atOnce: atOnce(budget.nodes, nodes),
      reasons: budget.reasons ?? [],
      when: budget.schedule === undefined ? null : `${budget.schedule} for ${budget.duration ?? '?'}`,
    })),
    replicas: spec.replicas ?? null,
  };
}

const atOnce = (budget: string, nodes: number): number =>
  budget.endsWith('%') ? Math.ceil((Number(budget.slice(0, -1)) * nodes) / 100) : Number(budget);
