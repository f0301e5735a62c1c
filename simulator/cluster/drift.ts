/**
 * The NodeClaim conditions that make a node a candidate: Drifted and Consolidatable. Source: karpenter
 * pkg/controllers/nodeclaim/disruption and podevents; provider's pkg/cloudprovider/drift.go.
 */
import type { EC2NodeClass, NodeClaim } from '../../rollout/kubernetes.ts';
import { clearCondition, conditionOf, isTrue, setCondition, transitionOf } from './conditions.ts';
import { equal } from './json.ts';
import { poolOf, type Karpenter } from './karpenter.ts';
import { classHash, classHashVersion, parseGoDuration } from './names.ts';
import { isTerminal, isTerminating, ownedBy } from './pods.ts';
import { now } from './types.ts';

/** A busy work queue or a lost watch event: then the next event finds it, or the requeue within five minutes. */
const lateShare = 0.05;
const requeueMs = 5 * 60_000;

/** What comes or goes on a node has its NodeClaim looked at again, drift included. */
const podEventMs = 500;

/** Pod events within ten seconds of the last recorded one are not recorded. */
const podEventDedupeMs = 10_000;

/** Static drift only with all four annotations present and equal versions. */
export function isDrifted(nodeClass: EC2NodeClass | undefined, claim: NodeClaim): boolean {
  const ofClass = nodeClass?.metadata.annotations;
  const ofClaim = claim.metadata.annotations;
  if (ofClass?.[classHash] === undefined || ofClass[classHashVersion] === undefined) return false;
  if (ofClaim?.[classHash] === undefined || ofClaim[classHashVersion] === undefined) return false;
  return ofClass[classHashVersion] === ofClaim[classHashVersion] && ofClass[classHash] !== ofClaim[classHash];
}

export interface ClaimConditions {
  /** When pods last came to or left the node, for consolidateAfter. */
  recordPodEvent(claim: string, at: number): void;
}

export function createClaimConditions(karpenter: Karpenter): ClaimConditions {
  const { world, process } = karpenter;
  const { store, chance, clock } = world;
  const lastPodEvent = new Map<string, number>();

  function reconcileDrift(name: string): void {
    const claim = store.get('NodeClaim', name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const nodeClass = store.get('EC2NodeClass', claim.spec.nodeClassRef.name);
    const refersTo = poolOf(karpenter, claim)?.spec.template.spec.nodeClassRef.name;
    // nodeClassRef is part of the NodePool's own hash, and that is looked at first.
    const ofPool = refersTo !== undefined && refersTo !== claim.spec.nodeClassRef.name;
    const drifted = isTrue(claim, 'Launched') && (ofPool || isDrifted(nodeClass, claim));
    const reason = ofPool ? 'NodePoolDrifted' : 'NodeClassDrift';
    store.update('NodeClaim', name, (current) =>
      drifted
        ? setCondition(
            current,
            {
              type: 'Drifted',
              status: 'True',
              reason,
              message: reason,
              observedGeneration: current.metadata.generation ?? 1,
            },
            clock.now(),
          )
        : clearCondition(current, 'Drifted'),
    );
  }

  function scheduleDrift(name: string): void {
    const late = chance.next() < lateShare;
    process.after(late ? chance.between(5_000, requeueMs) : chance.between(1_000, 5_000), () => {
      reconcileDrift(name);
    });
  }

  function reconcileConsolidatable(name: string): void {
    const claim = store.get('NodeClaim', name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const pool = poolOf(karpenter, claim);
    if (pool === undefined || pool.spec.replicas !== undefined) return;
    const after = parseGoDuration(pool.spec.disruption?.consolidateAfter ?? 'Never');
    const never = after === undefined && pool.spec.disruption?.consolidateAfter !== '0s';
    if (never || !isTrue(claim, 'Initialized')) {
      store.update('NodeClaim', name, (current) => clearCondition(current, 'Consolidatable'));
      return;
    }
    const since = lastPodEvent.get(name) ?? transitionOf(claim, 'Initialized');
    const left = since + (after ?? 0) - now(world);
    if (left > 0) {
      store.update('NodeClaim', name, (current) => clearCondition(current, 'Consolidatable'));
      process.after(left, () => {
        reconcileConsolidatable(name);
      });
      return;
    }
    store.update('NodeClaim', name, (current) =>
      setCondition(
        current,
        {
          type: 'Consolidatable',
          status: 'True',
          reason: 'Consolidatable',
          message: '',
          observedGeneration: current.metadata.generation ?? 1,
        },
        clock.now(),
      ),
    );
  }

  function recordPodEvent(name: string, at: number): void {
    const last = lastPodEvent.get(name);
    if (last !== undefined && at - last < podEventDedupeMs) return;
    lastPodEvent.set(name, at);
    reconcileConsolidatable(name);
  }

  store.watch('EC2NodeClass', ({ before, after }) => {
    const old = before?.metadata.annotations;
    const fresh = after?.metadata.annotations;
    if (old?.[classHash] === fresh?.[classHash] && old?.[classHashVersion] === fresh?.[classHashVersion])
      return;
    const className = (after ?? before)?.metadata.name;
    for (const claim of store.all('NodeClaim')) {
      if (claim.spec.nodeClassRef.name === className) scheduleDrift(claim.metadata.name);
    }
  });

  store.watch('NodePool', ({ before, after }) => {
    if (before === undefined || after === undefined || equal(before.spec.template, after.spec.template))
      return;
    for (const claim of store.claimsOf(after.metadata.name)) scheduleDrift(claim.metadata.name);
  });

  store.watch('NodeClaim', ({ before, after }) => {
    if (after === undefined) {
      if (before !== undefined) lastPodEvent.delete(before.metadata.name);
      return;
    }
    const { name } = after.metadata;
    const old = before?.metadata.annotations;
    const fresh = after.metadata.annotations;
    const restamped =
      old?.[classHash] !== fresh?.[classHash] || old?.[classHashVersion] !== fresh?.[classHashVersion];
    const launched = isTrue(after, 'Launched') && !(before !== undefined && isTrue(before, 'Launched'));
    if (restamped || launched) scheduleDrift(name);
    const wasInitialized = before !== undefined && isTrue(before, 'Initialized');
    if (isTrue(after, 'Initialized') && !wasInitialized) {
      process.after(100, () => {
        reconcileConsolidatable(name);
      });
    }
  });

  store.watch('Pod', ({ before, after }) => {
    const pod = after ?? before;
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || nodeName === undefined || after === undefined || ownedBy(pod, 'DaemonSet'))
      return;
    const bound = before?.spec.nodeName === undefined;
    const ended = isTerminal(after) && !(before !== undefined && isTerminal(before));
    const leaving = isTerminating(after) && !(before !== undefined && isTerminating(before));
    if (!bound && !ended && !leaving) return;
    const node = store.get('Node', nodeName);
    const claim = node && store.claimOf(node);
    if (claim === undefined) return;
    const { name } = claim.metadata;
    process.after(chance.between(50, 500), () => {
      recordPodEvent(name, now(world));
    });
    process.after(podEventMs, () => {
      reconcileDrift(name);
    });
  });

  process.onStart(() => {
    for (const claim of store.all('NodeClaim')) {
      const { name } = claim.metadata;
      process.after(chance.between(1_000, 5_000), () => {
        if (conditionOf(claim, 'Launched') !== undefined) reconcileDrift(name);
        reconcileConsolidatable(name);
      });
    }
  });

  return { recordPodEvent };
}
