/**
 * A NodeClaim on its way out: taint, drain through the eviction API, terminate the instance, remove the Node.
 * Sources: karpenter pkg/controllers/node/termination, nodeclaim/lifecycle (finalize) and garbagecollection.
 */
import type { Node, NodeClaim } from '../../rollout/kubernetes.ts';
import { conditionOf, isTrue, setCondition, transitionOf } from './conditions.ts';
import { deleteClaim, type Karpenter } from './karpenter.ts';
import type { Kubelets } from './kubelets.ts';
import { disruptedTaint, parseGoDuration, sameTaint, stamp, terminationTimestamp } from './names.ts';
import { zone } from './objects.ts';
import type { DisruptionBudgets } from './pdb.ts';
import { isEvictable, isTerminating, isWaitedForByDrain, ownedBy } from './pods.ts';
import { Ticker } from './process.ts';
import type { LostTo } from '../parts.ts';
import { now } from './types.ts';

/** Pods that were bound just before the taint are drained too. */
const minDrainMs = 5_000;
/** Kubernetes' default, which bare Build pods have. */
const podGraceMs = 30_000;
const garbageMs = 2 * 60_000;
/** Volumes are detached first: with EC2's shutting down, an instance is gone 30 s after its last pod. */
const detachMs = 20_000;

const words: Record<LostTo, string> = {
  drift: 'drift',
  emptiness: 'emptiness',
  expiry: 'expiry',
  interruption: 'a spot interruption',
  repair: 'a repair',
  hand: 'a deletion by hand',
  notReady: 'a node that is not ready',
};

export function createTermination(
  karpenter: Karpenter,
  budgets: DisruptionBudgets,
  kubelets: Kubelets,
): void {
  const { world, process, events } = karpenter;
  const { store, clock, machines } = world;
  const going = new Set<string>();
  /** When to ask a full budget again, by pod. */
  const askAgainAt = new Map<string, { at: number; pause: number }>();
  /** When the last pod left each node that is going. */
  const emptySince = new Map<string, number>();

  const ticker = new Ticker(
    (milliseconds, action) => {
      process.after(milliseconds, action);
    },
    1_000,
    () => {
      for (const name of [...going]) step(name);
      return going.size > 0;
    },
  );

  function step(name: string): void {
    const claim = store.get('NodeClaim', name);
    if (claim === undefined) {
      going.delete(name);
      return;
    }
    const deadline = terminationDeadline(claim);
    const node = store.nodeOf(claim);
    if (node !== undefined && isTrue(claim, 'Registered')) {
      if (node.metadata.deletionTimestamp === undefined) store.delete('Node', node.metadata.name);
      taint(node);
      if (!isDrained(claim, node, deadline)) return;
    }
    if (!isInstanceGone(claim)) return;
    if (node !== undefined) {
      const cause = karpenter.causes.get(name) ?? 'hand';
      for (const pod of [...store.podsOn(node.metadata.name)]) {
        const why = `${node.metadata.name} was terminated for ${words[cause]}`;
        kubelets.lose(pod.metadata.name, cause, why);
      }
      store.remove('Node', node.metadata.name);
      emptySince.delete(node.metadata.name);
    }
    store.remove('NodeClaim', name);
    going.delete(name);
  }

  function terminationDeadline(claim: NodeClaim): number | undefined {
    const noted = claim.metadata.annotations?.[terminationTimestamp];
    if (noted !== undefined) return Date.parse(noted);
    const grace = parseGoDuration(claim.spec.terminationGracePeriod ?? '');
    if (grace === undefined) return undefined;
    const deadline = stamp(new Date(Date.parse(claim.metadata.deletionTimestamp ?? '') + grace));
    store.update('NodeClaim', claim.metadata.name, (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        annotations: { ...current.metadata.annotations, [terminationTimestamp]: deadline },
      },
    }));
    const node = store.nodeOf(claim);
    for (const about of node === undefined ? [claim] : [claim, node]) {
      events.publish({
        type: 'Warning',
        reason: 'TerminationGracePeriodExpiring',
        message: `All pods will be deleted by ${deadline}`,
        about,
      });
    }
    return Date.parse(deadline);
  }

  function taint(node: Node): void {
    store.update('Node', node.metadata.name, (current) => {
      const tainted = current.spec.taints?.some((one) => sameTaint(one, disruptedTaint)) === true;
      const excluded =
        current.metadata.labels?.['node.kubernetes.io/exclude-from-external-load-balancers'] === 'karpenter';
      if (tainted && excluded) return current;
      return {
        ...current,
        metadata: {
          ...current.metadata,
          labels: {
            ...current.metadata.labels,
            'node.kubernetes.io/exclude-from-external-load-balancers': 'karpenter',
          },
        },
        spec: {
          ...current.spec,
          taints: tainted ? (current.spec.taints ?? []) : [...(current.spec.taints ?? []), disruptedTaint],
        },
      };
    });
  }

  function isDrained(claim: NodeClaim, node: Node, deadline: number | undefined): boolean {
    const { name } = claim.metadata;
    if (isTrue(claim, 'Drained')) return true;
    if (conditionOf(claim, 'Drained') === undefined) setDrained(name, 'Unknown');
    const at = now(world);
    const waiting = [...store.podsOn(node.metadata.name)].filter((pod) => isWaitedForByDrain(pod, at));
    // DaemonSets' pods go last.
    const others = waiting.filter((pod) => !ownedBy(pod, 'DaemonSet'));
    for (const pod of others.length > 0 ? others : waiting) evict(claim, node, pod.metadata.name, deadline);
    if (waiting.length > 0) {
      events.publish({
        type: 'Warning',
        reason: 'FailedDraining',
        message: `Failed to drain node, ${waiting.length} pods are waiting to be evicted`,
        about: node,
      });
      return false;
    }
    const current = store.get('NodeClaim', name) ?? claim;
    if (at - transitionOf(current, 'Drained') < minDrainMs) return false;
    if (at - (emptySince.get(node.metadata.name) ?? 0) < detachMs) return false;
    setDrained(name, 'True');
    return true;
  }

  function setDrained(name: string, status: 'True' | 'Unknown'): void {
    const reason = status === 'True' ? 'Drained' : 'Draining';
    store.update('NodeClaim', name, (current) =>
      setCondition(
        current,
        { type: 'Drained', status, reason, message: reason, observedGeneration: 1 },
        clock.now(),
      ),
    );
  }

  function evict(claim: NodeClaim, node: Node, podName: string, deadline: number | undefined): void {
    const pod = store.get('Pod', podName);
    if (pod === undefined || isTerminating(pod)) return;
    const at = now(world);
    const cause = karpenter.causes.get(claim.metadata.name) ?? 'hand';
    const why = `Karpenter drained ${node.metadata.name} for ${words[cause]}`;
    if (deadline !== undefined && at > deadline - podGraceMs) {
      const grace = Math.max(1, Math.floor((deadline - at) / 1_000));
      events.publish({
        type: 'Normal',
        reason: 'Disrupted',
        message: `Deleting the pod to accommodate the terminationTime ${stamp(new Date(deadline))} of the node. The pod was granted ${grace} seconds of grace-period of its 30 terminationGracePeriodSeconds. This bypasses the PDB of the pod and the do-not-disrupt annotation.`,
        about: pod,
      });
      kubelets.terminate(podName, cause, `${why} past its termination grace period`);
      return;
    }
    // A pod that protects itself is waited for, not evicted.
    if (!isEvictable(pod, at)) return;
    const waited = askAgainAt.get(podName);
    if (waited !== undefined && waited.at > at) return;
    if (!budgets.take(pod)) {
      const pause = Math.min(10_000, (waited?.pause ?? 500) * 2);
      askAgainAt.set(podName, { at: at + pause, pause });
      events.publish({
        type: 'Warning',
        reason: 'FailedDraining',
        message: `Failed to drain node, evicting pod violates a PDB (Pod=${pod.metadata.namespace ?? ''}/${podName})`,
        about: node,
      });
      return;
    }
    askAgainAt.delete(podName);
    const reason = conditionOf(claim, 'DisruptionReason')?.reason ?? 'Forceful Termination';
    events.publish({ type: 'Normal', reason: 'Evicted', message: `Evicted pod: ${reason}`, about: pod });
    kubelets.terminate(podName, cause, why);
  }

  function isInstanceGone(claim: NodeClaim): boolean {
    const instanceId = claim.status?.providerID?.split('/').at(-1);
    if (instanceId === undefined || machines.get(instanceId) === undefined) return true;
    if (!isTrue(claim, 'InstanceTerminating')) {
      machines.terminate(instanceId, karpenter.causes.get(claim.metadata.name) ?? 'hand');
      store.update('NodeClaim', claim.metadata.name, (current) =>
        setCondition(
          current,
          {
            type: 'InstanceTerminating',
            status: 'True',
            reason: 'InstanceTerminating',
            message: '',
            observedGeneration: 1,
          },
          clock.now(),
        ),
      );
    }
    return machines.get(instanceId) === undefined;
  }

  /** Claims whose instance somebody terminated, and instances that a dying process launched without noting them. */
  function collectGarbage(): void {
    process.after(garbageMs, collectGarbage);
    for (const claim of [...store.all('NodeClaim')]) {
      const instanceId = claim.status?.providerID?.split('/').at(-1);
      if (instanceId === undefined || !isTrue(claim, 'Registered') || going.has(claim.metadata.name))
        continue;
      const state = machines.get(instanceId)?.state;
      if (state === undefined || state === 'shutting-down') deleteClaim(karpenter, claim, 'hand');
    }
    for (const instance of machines.all()) {
      if (instance.tags['eks:eks-cluster-name'] !== world.name || instance.state === 'shutting-down')
        continue;
      if (now(world) - Date.parse(instance.launchTime) < 30_000 + world.settings.launchMs * 2) continue;
      if (claimed(instance.instanceId)) continue;
      machines.terminate(instance.instanceId, 'expiry');
    }
  }

  function claimed(instanceId: string): boolean {
    return store.claimWithProvider(`aws:///${zone}/${instanceId}`) !== undefined;
  }

  function notice(claim: NodeClaim): void {
    if (claim.metadata.deletionTimestamp === undefined) return;
    going.add(claim.metadata.name);
    ticker.wake(200);
  }

  store.watch('Pod', ({ before, after }) => {
    const node = before?.spec.nodeName;
    if (after === undefined && before !== undefined && node !== undefined && !ownedBy(before, 'DaemonSet')) {
      emptySince.set(node, now(world));
    }
  });
  store.watch('NodeClaim', ({ after }) => {
    if (after?.metadata.deletionTimestamp !== undefined && !going.has(after.metadata.name) && process.running)
      notice(after);
  });
  // kubectl delete node: the finalizer makes it a drain.
  store.watch('Node', ({ before, after }) => {
    if (after?.metadata.deletionTimestamp === undefined || before?.metadata.deletionTimestamp !== undefined)
      return;
    const { name } = after.metadata;
    process.after(100, () => {
      const node = store.get('Node', name);
      const claim = node && store.claimOf(node);
      if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
        deleteClaim(karpenter, claim, 'hand');
    });
  });
  process.onStop(() => {
    going.clear();
    askAgainAt.clear();
    ticker.reset();
  });
  process.onStart(() => {
    for (const node of [...store.all('Node')]) {
      const claim = store.claimOf(node);
      if (claim === undefined || node.metadata.deletionTimestamp === undefined) continue;
      if (claim.metadata.deletionTimestamp === undefined) deleteClaim(karpenter, claim, 'hand');
    }
    for (const claim of store.all('NodeClaim')) notice(claim);
    process.after(garbageMs, collectGarbage);
  });
  process.after(garbageMs, collectGarbage);
}
