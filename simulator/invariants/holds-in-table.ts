/**
 * 7. No hold is left outside the table of what holds which build node; if the cluster cannot be reached, `Failed`
 * names each held node, and reconcile releases within one period of its return.
 * A node is judged once nothing about it has changed for longer than two visits of reconcile.
 */
import type { Node, NodeClaim } from '../../rollout/kubernetes.ts';
import type { History } from './history.ts';
import {
  claimOf,
  fault,
  instanceOf,
  isDrifted,
  isHeld,
  isProtected,
  isProtectedByUs,
  runsBuild,
} from './judgement.ts';
import type { Rule, Truth } from './truth.ts';

const settled = 5 * 60_000;
const between = 20_000;

/** What the table gives a node. `class` is its first row: a write of the class that Karpenter has not taken in yet. */
type Row = 'class' | 'build' | 'replace' | 'none';

/** Invariant 7, holds. */
export function holdsInTable(truth: Truth, history: History): Rule {
  /** Since when a node stands as it does now. */
  const since = new Map<string, { row: string; at: number }>();
  let lookedAt = 0;

  const watch = (): void => {
    const now = truth.now().getTime();
    for (const node of truth.objects('Node').filter(isHeld)) {
      const row = `${rowOf(truth, history, node)} ${String(isHeld(node))}`;
      if (since.get(node.metadata.name)?.row !== row) since.set(node.metadata.name, { row, at: now });
    }
  };

  return {
    invariant: '7 holds-in-table',
    onLook() {
      const now = truth.now().getTime();
      if (now - lookedAt >= between) {
        lookedAt = now;
        watch();
      }
      return [];
    },
    atEnd() {
      watch();
      const held = truth.objects('Node').filter(isHeld);
      if (isUnreachable(truth)) return unnamed(truth, held);
      if (truth.executions().some(({ endedAt }) => endedAt === null)) return [];
      const now = truth.now().getTime();
      const judged = held.filter((node) => now - (since.get(node.metadata.name)?.at ?? now) >= settled);
      return [
        ...judged.flatMap((node) => outsideTable(node, rowOf(truth, history, node))),
        ...truth.objects('NodeClaim').flatMap((claim) => leftClaim(truth, claim)),
      ];
    },
  };
}

function rowOf(truth: Truth, history: History, node: Node): Row {
  if (truth.parameters().some(({ key, value }) => key === 'imds_rollout_strategy' && value === 'karpenter'))
    return 'none';
  if (!isClassReady(truth, history)) return 'class';
  const instance = instanceOf(truth, node);
  const target = history.newest()?.target ?? {};
  const wrong =
    instance !== undefined && history.reading().kind !== 'inert' && fault(instance, target) !== undefined;
  if (!wrong && !isDrifted(claimOf(truth, node))) return 'none';
  return runsBuild(truth, node.metadata.name) ? 'build' : 'replace';
}

function outsideTable(node: Node, row: Row): string[] {
  const { name, deletionTimestamp } = node.metadata;
  // Karpenter has taken it: what is left on it changes nothing.
  if (deletionTimestamp !== undefined) return [];
  const cordoned = node.spec.unschedulable === true;
  const by =
    [...(cordoned ? ['cordoned'] : []), ...(isProtected(node) ? ['protected'] : [])].join(' and ') ||
    'marked';
  switch (row) {
    case 'none':
      return [`${name} is ${by} by a hold of ours although nothing is to become of it`];
    case 'replace':
      return isProtectedByUs(node)
        ? [`${name} is ${by} although no Build runs on it and Karpenter is to take it`]
        : [];
    case 'build':
      return isProtected(node) ? [] : [`${name} is ${by} but not protected although a Build runs on it`];
    case 'class':
      return cordoned && !isProtected(node)
        ? [`${name} is ${by} although Karpenter has not taken in the class`]
        : [];
  }
}

function isClassReady(truth: Truth, history: History): boolean {
  const nodeClass = truth
    .objects('EC2NodeClass')
    .find(({ metadata }) => metadata.name === history.buildClass());
  const ready = nodeClass?.status?.conditions?.find(({ type }) => type === 'Ready');
  if (nodeClass === undefined || ready === undefined) return true;
  const seen = ready.observedGeneration ?? nodeClass.metadata.generation;
  return ready.status === 'True' && seen === nodeClass.metadata.generation;
}

/** A hold on a NodeClaim goes to its node when that registers, and is released with it. */
function leftClaim(truth: Truth, claim: NodeClaim): string[] {
  if (!isHeld(claim) || claim.metadata.deletionTimestamp !== undefined) return [];
  const node = truth.objects('Node').find(({ spec }) => spec.providerID === claim.status?.providerID);
  if (node !== undefined && isHeld(node)) return [];
  if (truth.now().getTime() - Date.parse(claim.metadata.creationTimestamp) < settled) return [];
  return [`NodeClaim ${claim.metadata.name} carries a hold of ours and its node none`];
}

/** Calls of the cluster have failed until now, or did so until a moment ago. */
function isUnreachable(truth: Truth): boolean {
  const { scenario } = truth;
  const at = truth.now().getTime() - Date.parse(scenario.startsAt);
  return scenario.faults.some(
    ({ api, error, share, from, until }) =>
      error !== null &&
      share >= 1 &&
      (api.startsWith('kubernetes:') || api.startsWith('eks:')) &&
      from <= at &&
      (until ?? Number.POSITIVE_INFINITY) > at - settled,
  );
}

function unnamed(truth: Truth, held: readonly Node[]): string[] {
  const failed = truth.executions().findLast(({ outcome }) => outcome === 'Failed');
  if (failed === undefined) return [];
  return held
    .filter((node) => failed.reason?.includes(node.metadata.name) !== true)
    .map((node) => `${failed.name} ended Failed and does not name ${node.metadata.name}, which is held`);
}
