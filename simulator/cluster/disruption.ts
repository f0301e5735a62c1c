/**
 * The disruption loop: every 10 s, and at once again after a pass that did something. Emptiness first, then static
 * drift, then drift. Emptiness takes all that the budgets allow and looks again 15 s later before it acts, and the
 * loop stands still meanwhile; drift takes one node and acts at once. Source: karpenter pkg/controllers/disruption.
 */
import type { NodeClaim, Pod } from '../../rollout/kubernetes.ts';
import { disruptionsLeft } from './budgets.ts';
import { candidateOf, candidates, publishBlocked, type Candidate } from './candidates.ts';
import type { Commands } from './commands.ts';
import { conditionOf, isTrue } from './conditions.ts';
import { isDeleting, type Karpenter } from './karpenter.ts';
import { doNotDisrupt } from './names.ts';
import type { DisruptionBudgets } from './pdb.ts';
import { isMovable, pendingPods, place, podsOfDeletingNodes } from './placement.ts';
import { isProvisionable } from './pods.ts';
import { headroom } from './static-pools.ts';
import { now } from './types.ts';

const pollMs = 10_000;
const validationMs = 15_000;
/** A pass looks at caches of watches, and takes a moment until it acts on what it saw. */
const cacheLag = [5, 50] as const;
/** For how long what one pass saw serves the next ones. */
const freshMs = 1_000;
/** Events are repeated after two minutes, so that a pass is due then even where nothing changed. */
const eventsMs = 2 * 60_000;

export function createDisruption(karpenter: Karpenter, budgets: DisruptionBudgets, commands: Commands): void {
  const { world, process, events } = karpenter;
  const { store, chance } = world;
  /** The store's revision at the end of the last pass that found nothing to do. */
  let idleRevision = -1;
  let idleUntil = 0;
  let seen: { at: number; all: Candidate[] } = { at: Number.NEGATIVE_INFINITY, all: [] };

  function next(milliseconds: number): void {
    process.after(milliseconds, pass);
  }

  function pass(): void {
    if (store.revision === idleRevision && now(world) < idleUntil) {
      next(pollMs);
      return;
    }
    const all = look();
    if (startEmptiness(all) || startStaticDrift(all) || startDrift(all)) return;
    idleRevision = store.revision;
    idleUntil = now(world) + (timeMatters() ? 0 : eventsMs);
    for (const until of karpenter.nominatedUntil.values()) {
      if (until > now(world)) idleUntil = Math.min(idleUntil, until);
    }
    next(pollMs);
  }

  /**
   * All candidates. A pass that follows at once on one that did something works on what that one saw, and looks again
   * only at the node that it takes: with thousands of nodes a whole look at each would cost more than it finds.
   */
  function look(): Candidate[] {
    if (now(world) - seen.at >= freshMs) {
      commands.cleanUp();
      seen = { at: now(world), all: candidates(karpenter, budgets, (claim) => commands.has(claim)) };
    }
    return seen.all.filter(({ claim }) => !commands.has(claim.metadata.name) && !isGone(claim));
  }

  function candidateNow({ claim }: Candidate): Candidate | undefined {
    const current = store.get('NodeClaim', claim.metadata.name);
    const candidate = current && candidateOf(karpenter, budgets, current);
    return candidate !== undefined && isTrue(candidate.claim, 'Drifted') ? candidate : undefined;
  }

  function isGone({ metadata }: NodeClaim): boolean {
    const claim = store.get('NodeClaim', metadata.name);
    return claim === undefined || isDeleting(karpenter, claim);
  }

  /** Where something that the loop reads changes with time alone. */
  function timeMatters(): boolean {
    for (const pool of store.all('NodePool')) {
      if (pool.spec.disruption?.budgets?.some((budget) => budget.schedule !== undefined) === true)
        return true;
    }
    for (const pod of store.all('Pod')) {
      const value = pod.metadata.annotations?.[doNotDisrupt];
      if (value !== undefined && value !== 'true') return true;
    }
    return false;
  }

  function isEmptyAndDue(candidate: Candidate): boolean {
    const { claim, node, pool, pods } = candidate;
    if (pool.spec.replicas !== undefined) return false;
    if ((pool.spec.disruption?.consolidateAfter ?? 'Never') === 'Never') {
      const message = `NodePool "${pool.metadata.name}" has consolidation disabled`;
      for (const about of [node, claim]) {
        events.publish({ type: 'Normal', reason: 'Unconsolidatable', message, about, dedupeMs: 15 * 60_000 });
      }
      return false;
    }
    return !candidate.podBlocked && pods.length === 0 && isTrue(claim, 'Consolidatable');
  }

  function withinBudget(found: Candidate[], left: Map<string, number>): Candidate[] {
    return found.filter(({ pool }) => {
      const { name } = pool.metadata;
      const one = left.get(name) ?? 0;
      left.set(name, one - 1);
      return one > 0;
    });
  }

  function startEmptiness(all: Candidate[]): boolean {
    const empty = all.filter(isEmptyAndDue);
    if (empty.length === 0) return false;
    const chosen = withinBudget(empty, disruptionsLeft(karpenter, 'Empty'));
    if (chosen.length === 0) return false;
    process.after(validationMs, () => {
      const valid = chosen
        .map(({ claim }) => store.get('NodeClaim', claim.metadata.name))
        .flatMap((claim) => (claim === undefined ? [] : [candidateOf(karpenter, budgets, claim)]))
        .filter((one) => one !== undefined)
        .filter(isEmptyAndDue);
      const allowed = withinBudget(valid, disruptionsLeft(karpenter, 'Empty'));
      const started =
        allowed.length > 0 &&
        commands.start('Empty', allowed, { used: [], created: [], errors: new Map<Pod, string>() });
      next(started ? chance.between(...cacheLag) : pollMs);
    });
    return true;
  }

  function startStaticDrift(all: Candidate[]): boolean {
    const drifted = all.filter(
      ({ pool, claim }) => pool.spec.replicas !== undefined && isTrue(claim, 'Drifted'),
    );
    if (drifted.length === 0) return false;
    const left = disruptionsLeft(karpenter, 'Drifted');
    let started = false;
    for (const name of new Set(drifted.map(({ pool }) => pool.metadata.name))) {
      const ofPool = drifted.filter(({ pool }) => pool.metadata.name === name);
      const count = Math.min(left.get(name) ?? 0, ofPool.length, headroom(karpenter, name));
      for (const candidate of ofPool.slice(0, Math.max(0, count))) {
        const created = [{ pool: candidate.pool, pods: [] }];
        if (commands.start('Drifted', [candidate], { used: [], created, errors: new Map() })) started = true;
      }
    }
    if (started) next(chance.between(...cacheLag));
    return started;
  }

  function startDrift(all: Candidate[]): boolean {
    const drifted = all.filter(
      ({ pool, claim }) => pool.spec.replicas === undefined && isTrue(claim, 'Drifted'),
    );
    if (drifted.length === 0) return false;
    const left = disruptionsLeft(karpenter, 'Drifted');
    const since = ({ claim }: Candidate): string => conditionOf(claim, 'Drifted')?.lastTransitionTime ?? '';
    const oldestFirst = [...drifted].sort((one, other) => compare(since(one), since(other)));
    const empty = oldestFirst.filter(({ pods }) => pods.length === 0);
    const others = oldestFirst.filter(({ pods }) => pods.length > 0);
    let waiting: Pod[] | undefined;
    for (const known of [...empty, ...others]) {
      if ((left.get(known.pool.metadata.name) ?? 0) === 0) continue;
      const candidate = candidateNow(known);
      if (candidate === undefined) continue;
      waiting ??= [...pendingPods(karpenter), ...podsOfDeletingNodes(karpenter)];
      const moving = candidate.pods.filter((pod) => isMovable(karpenter, pod));
      const placement = place(karpenter, [...waiting, ...moving], new Set([candidate.claim.metadata.name]));
      // No Ready NodePool at all: the simulation fails, and the whole pass with it.
      if (placement === undefined) return false;
      const unplaced = [...placement.errors].filter(
        ([pod]) =>
          !isProvisionable(pod) &&
          (moving.includes(pod) || !isAgainstUninitialized(placement.errors.get(pod))),
      );
      if (unplaced.length > 0) {
        const list = unplaced
          .slice(0, 5)
          .map(([pod, why]) => `${pod.metadata.namespace ?? ''}/${pod.metadata.name} => ${why} `);
        publishBlocked(
          karpenter,
          candidate.node,
          candidate.claim,
          `Not all pods would schedule, ${list.join('')}`,
        );
        continue;
      }
      process.after(chance.between(...cacheLag), () => {
        const claim = store.get('NodeClaim', candidate.claim.metadata.name);
        const gone = claim === undefined || claim.metadata.deletionTimestamp !== undefined;
        const started = !gone && commands.start('Drifted', [candidate], placement);
        next(started ? chance.between(...cacheLag) : gone ? pollMs : 1_000);
      });
      return true;
    }
    return false;
  }

  process.onStart(() => {
    idleRevision = -1;
    next(chance.between(2_000, 5_000));
  });
  next(chance.between(0, pollMs));
}

/** Pods of nodes that go already are expected on nodes that are still coming up. */
function isAgainstUninitialized(error: string | undefined): boolean {
  return error?.startsWith('would schedule against uninitialized') === true;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
