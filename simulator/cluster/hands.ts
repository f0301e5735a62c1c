/** What people and neighbours do to the cluster. */
import { ConflictError, NotFoundError } from '../../rollout/errors.ts';
import { deleteClaim, type Karpenter } from './karpenter.ts';
import type { Kubelets } from './kubelets.ts';
import type { Lifecycle } from './lifecycle.ts';
import { classDraft } from './objects.ts';
import type { ClassSpec } from './types.ts';

export interface Hands {
  /** `kubectl delete node`: Karpenter's finalizer makes it a drain, and the instance ends by `hand`. */
  removeNode(node: string): void;
  /** Its kubelet stops answering; after five minutes its pods are evicted. */
  nodeNotReady(node: string): void;
  /** Another scenario's repair: the kubelet answers again. */
  nodeReady(node: string): void;
  /** A spot interruption: drained at once, and gone after two minutes in any case. */
  interrupt(node: string): void;
  stopKarpenter(milliseconds: number): void;
  /** A controller of the next hash version takes over: at once, or when a stopped one starts again. */
  upgradeHashVersion(): void;
  /** `kubectl delete ec2nodeclass`: its finalizer waits until no NodeClaim uses it. */
  removeClass(name: string): void;
  /** `kubectl apply` of a new class; Karpenter settles it a little later. Throws where there is one of that name. */
  makeClass(name: string, spec: ClassSpec): void;
  /** The pool refers to another class from now on; its nodes drift by that. */
  editPool(name: string, nodeClass: string): void;
  /** `kubectl delete nodepool`: its nodes go with it, drained. */
  removePool(name: string): void;
  /** A NodeClaim of the pool that is still on its way, as for a pending pod. Its name; undefined over the limits. */
  launchNode(pool: string): string | undefined;
}

/** How long an upgraded controller takes to become the leader. */
const restartMs = 15_000;
const interruptionMs = 2 * 60_000;

/** Karpenter's own words, pkg/controllers/interruption/events. */
const interruptionEvents = [
  ['SpotInterrupted', 'Spot interruption warning was triggered'],
  ['TerminatingOnInterruption', 'Interruption triggered termination for the NodeClaim'],
] as const;

export function createHands(karpenter: Karpenter, kubelets: Kubelets, lifecycle: Lifecycle): Hands {
  const { world, process } = karpenter;
  const { store, clock, machines } = world;

  function existing(node: string): void {
    if (store.get('Node', node) === undefined) throw new NotFoundError(`The cluster has no node ${node}`);
  }

  function collectClasses(): void {
    for (const nodeClass of [...store.all('EC2NodeClass')]) {
      const { name, deletionTimestamp } = nodeClass.metadata;
      if (deletionTimestamp === undefined) continue;
      const used = [...store.all('NodeClaim')].some((claim) => claim.spec.nodeClassRef.name === name);
      if (!used) store.remove('EC2NodeClass', name);
    }
  }
  store.watch('NodeClaim', ({ after }) => {
    if (after === undefined) process.after(1_000, collectClasses);
  });

  return {
    removeNode: (node) => {
      existing(node);
      store.delete('Node', node);
    },
    nodeNotReady: (node) => {
      existing(node);
      kubelets.setReady(node, false);
    },
    nodeReady: (node) => {
      existing(node);
      kubelets.setReady(node, true);
    },
    interrupt: (name) => {
      existing(name);
      const node = store.get('Node', name);
      const claim = node && store.claimOf(node);
      const instanceId = node?.spec.providerID?.split('/').at(-1) ?? '';
      // Karpenter reads the notice from its queue; without it, only the two minutes count.
      if (claim !== undefined && process.running) {
        for (const [reason, message] of interruptionEvents) {
          for (const about of [claim, node]) {
            if (about !== undefined) karpenter.events.publish({ type: 'Warning', reason, message, about });
          }
        }
        deleteClaim(karpenter, claim, 'interruption');
      }
      clock.after(interruptionMs, () => {
        if (machines.get(instanceId) !== undefined) machines.terminate(instanceId, 'interruption');
        for (const pod of [...store.podsOn(name)]) {
          kubelets.lose(pod.metadata.name, 'interruption', `${name} was interrupted by EC2`);
        }
        if (store.get('Node', name) !== undefined) kubelets.setReady(name, false);
      });
    },
    stopKarpenter: (milliseconds) => {
      process.stop(milliseconds);
    },
    upgradeHashVersion: () => {
      karpenter.hashVersion += 1;
      if (process.running) process.stop(restartMs);
    },
    removeClass: (name) => {
      store.delete('EC2NodeClass', name);
      collectClasses();
    },
    makeClass: (name, spec) => {
      if (store.get('EC2NodeClass', name) !== undefined)
        throw new ConflictError(`EC2NodeClass ${name} exists already, or its finalizer is still waited for`);
      store.create('EC2NodeClass', classDraft(name, spec, clock.now()));
    },
    editPool: (name, nodeClass) => {
      store.update('NodePool', name, (pool) => ({
        ...pool,
        spec: {
          ...pool.spec,
          template: {
            ...pool.spec.template,
            spec: {
              ...pool.spec.template.spec,
              nodeClassRef: { ...pool.spec.template.spec.nodeClassRef, name: nodeClass },
            },
          },
        },
      }));
    },
    removePool: (name) => {
      for (const claim of [...store.claimsOf(name)]) deleteClaim(karpenter, claim, 'hand');
      store.remove('NodePool', name);
    },
    launchNode: (poolName) => {
      const pool = store.get('NodePool', poolName);
      if (pool === undefined) throw new Error(`The cluster has no NodePool ${poolName}`);
      return lifecycle.createClaim(pool);
    },
  };
}
