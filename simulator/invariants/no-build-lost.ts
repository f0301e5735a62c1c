/**
 * 3. Under graceful and immediate no Build is lost to a disruption that the rollout set off. A disruption is the
 * rollout's where Karpenter took the node for drift or emptiness after our patch of the class, and nobody else has
 * written the class since; expiry, interruption, repair and hands are told apart by what took the pod, else by why
 * the instance ended.
 */
import type { BuildReport } from '../parts.ts';
import type { History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

/** An eviction may follow its decision after so long: drains take their time. */
const lag = 15 * 60_000;
const between = 5_000;

/** Invariant 3. */
export function noBuildLost(truth: Truth, history: History): Rule {
  const told = new Set<string>();
  let lookedAt = 0;
  let karpenterUntil = Number.NEGATIVE_INFINITY;

  const look = (): string[] => {
    const now = truth.now().getTime();
    if (strategy(truth) === 'karpenter') karpenterUntil = now;
    const patchedAt = history.patchedAt();
    const lost = truth.builds().filter((build) => build.outcome === 'evicted' && !told.has(build.name));
    return lost.flatMap((build) => {
      const endedBy = build.lostTo ?? (build.node === null ? undefined : truth.endOf(build.node));
      // The instance ends after its last pod: until then nobody knows why.
      if (endedBy === undefined) return [];
      told.add(build.name);
      if (endedBy !== 'drift' && endedBy !== 'emptiness') return [];
      const foreignAt = history.foreignWriteAt() ?? Number.NEGATIVE_INFINITY;
      // A disruption that somebody else's write has set off goes on whatever is protected afterwards.
      const isForeign = patchedAt === undefined || foreignAt > patchedAt || now - foreignAt < lag;
      if (isForeign && !wasAwaited(truth, history)) return [];
      if (now - karpenterUntil < lag || !counts(truth, build)) return [];
      return [
        `Build ${build.name} on ${build.node ?? 'no node'} was evicted, and the node ended by ${endedBy}${build.why === undefined ? '' : ` (${build.why})`}`,
      ];
    });
  };

  return {
    invariant: '3 no-build-lost',
    onLook() {
      if (truth.now().getTime() - lookedAt < between) return [];
      lookedAt = truth.now().getTime();
      return look();
    },
    atEnd: look,
  };
}

/** What a rollout needs until it has protected everything: it settles, plans and holds. */
const untilProtected = 90_000;

/** Whether a rollout waited for the class to be written when its own writer did so: that is as if it had done it. */
function wasAwaited(truth: Truth, history: History): boolean {
  const at = history.foreignWriteAt();
  const since = history.externalSince();
  if (at === undefined || since === undefined || since > at) return false;
  return truth
    .executions()
    .some(
      ({ startedAt, endedAt }) =>
        Date.parse(startedAt) + untilProtected <= at && (endedAt === null || Date.parse(endedAt) >= at),
    );
}

function strategy(truth: Truth): string {
  return truth.parameters().find(({ key }) => key === 'imds_rollout_strategy')?.value ?? 'graceful';
}

/** Whether the Build is one under `imds_rollout_build_selector`; only plain `a=b` selectors are understood. */
function counts(truth: Truth, build: BuildReport): boolean {
  const selector = truth.parameters().find(({ key }) => key === 'imds_rollout_build_selector')?.value;
  if (selector === undefined) return true;
  const labels = labelsOf(truth, build.name);
  return selector.split(',').every((term) => {
    const [, key, value] = /^\s*([^\s=!]+)\s*==?\s*([^\s=!]*)\s*$/.exec(term) ?? [];
    return key !== undefined && labels[key] === value;
  });
}

function labelsOf({ scenario }: Truth, name: string): Record<string, string> {
  const onNodes = scenario.nodes.flatMap((node) => node.builds);
  const later = scenario.timeline.flatMap(({ action }) => (action.kind === 'build' ? [action.build] : []));
  return [...onNodes, ...later].find((build) => build.name === name)?.labels ?? {};
}
