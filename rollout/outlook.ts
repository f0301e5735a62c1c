/** What is likely to happen to each node, beyond what a plan is sure of. Pure. */
import type { Policy } from './desired.ts';
import type { Plan } from './journal.ts';

/**
 * Whether a node's instance is modified live. `as a canary`: before the class is patched. `at once`: by strategy immediate. `probable`: something keeps Karpenter
 * from it that does not end by itself. `if its Builds still run`: at the deadline; how long a Build runs nobody knows.
 */
export type LiveModification = 'as a canary' | 'at once' | 'probable' | 'if its Builds still run' | 'no';

export interface NodeOutlook {
  node: string;
  fate: Plan['nodes'][number]['fate'];
  /** The Builds that it is kept for. */
  builds: string[];
  /** Who has to let go of it first; null where nothing is known to. */
  blockedBy: string | null;
  live: LiveModification;
}

export const outlooks = (
  { nodes, blockers, canary }: Pick<Plan, 'nodes' | 'blockers' | 'canary'>,
  policy: Pick<Policy, 'strategy' | 'stragglers'>,
): NodeOutlook[] =>
  nodes.map((planned) => {
    const blockedBy = blockers.find(({ node }) => node === planned.node)?.why ?? null;
    const { node, fate, builds } = planned;
    const live = canary?.nodes.includes(node) === true ? 'as a canary' : liveOf(planned, blockedBy, policy);
    return { node, fate, builds, blockedBy, live };
  });

function liveOf(
  { verdict, builds, fate }: Plan['nodes'][number],
  blockedBy: string | null,
  { strategy, stragglers }: Pick<Policy, 'strategy' | 'stragglers'>,
): LiveModification {
  if (verdict !== 'wrong' || fate === 'untouched') return 'no';
  if (strategy === 'immediate') return 'at once';
  if (stragglers !== 'modify') return 'no';
  if (blockedBy !== null) return 'probable';
  return builds.length > 0 ? 'if its Builds still run' : 'no';
}
