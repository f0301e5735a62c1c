/**
 * The kubelets: they join, report Ready, start pods that are bound to them, and end pods that are deleted. They go
 * on without Karpenter. A kubelet that lost its node's connection starts and ends nothing.
 */
import type { LostTo } from '../parts.ts';
import type { Condition, NodeClaim, Pod } from '../../rollout/kubernetes.ts';
import { isTrue, setCondition } from './conditions.ts';
import { notReadyTaint, sameTaint, stamp } from './names.ts';
import { nodeDraft } from './objects.ts';
import { isTerminal, isTerminating } from './pods.ts';
import { now, type World } from './types.ts';

const podGraceMs = 30_000;

interface Loss {
  lostTo: LostTo;
  why: string;
}

export interface Kubelets {
  /** The machine of a launched claim boots and joins after so long. */
  boot(claim: NodeClaim, joinsInMs: number): void;
  /** Deletes a pod with its grace period: it is told at once and gone a little later. */
  terminate(pod: string, lostTo: LostTo, why: string): void;
  /** The pod is gone at once, its machine with it. */
  lose(pod: string, lostTo: LostTo, why: string): void;
  lossOf(pod: string): Loss | undefined;
  /** Runs a pod to its end. */
  end(pod: string, phase: 'Succeeded' | 'Failed'): void;
  setReady(node: string, ready: boolean): void;
}

export function createKubelets(world: World): Kubelets {
  const { store, clock, chance, machines, settings } = world;
  const losses = new Map<string, Loss>();
  let joined = 0;

  function boot(claim: NodeClaim, joinsInMs: number): void {
    const providerID = claim.status?.providerID ?? '';
    const cpu = claim.status?.capacity?.['cpu'] ?? '4';
    clock.after(joinsInMs, () => {
      const instance = machines.get(providerID.split('/').at(-1) ?? '');
      if (instance === undefined || instance.state === 'shutting-down') return;
      if (store.claimWithProvider(providerID) === undefined) return;
      const name = freeName();
      store.create('Node', nodeDraft(name, providerID, cpu, [notReadyTaint]));
      setReadyCondition(name, 'False', 'KubeletNotReady', 'container runtime network not ready');
      clock.after(settings.initializeMs * chance.between(0.3, 0.7), () => {
        setReady(name, true);
      });
    });
  }

  /** A scenario may have been read from a cluster that has some of these names. */
  function freeName(): string {
    for (;;) {
      joined += 1;
      const name = `ip-10-0-${Math.floor(joined / 250)}-${(joined % 250) + 1}.ec2.internal`;
      if (store.get('Node', name) === undefined) return name;
    }
  }

  function setReadyCondition(
    name: string,
    status: Condition['status'],
    reason: string,
    message: string,
  ): void {
    store.update('Node', name, (current) =>
      setCondition(current, { type: 'Ready', status, reason, message }, clock.now()),
    );
  }

  function setReady(name: string, ready: boolean): void {
    if (!ready) {
      setReadyCondition(name, 'Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.');
      return;
    }
    setReadyCondition(name, 'True', 'KubeletReady', 'kubelet is posting ready status');
    store.update('Node', name, (current) =>
      current.spec.taints?.some((taint) => sameTaint(taint, notReadyTaint)) === true
        ? {
            ...current,
            spec: {
              ...current.spec,
              taints: current.spec.taints.filter((one) => !sameTaint(one, notReadyTaint)),
            },
          }
        : current,
    );
    for (const pod of [...store.podsOn(name)]) start(pod);
  }

  function isUp(node: string | undefined): boolean {
    const object = node === undefined ? undefined : store.get('Node', node);
    return object !== undefined && isTrue(object, 'Ready');
  }

  function start(pod: Pod): void {
    if (pod.status?.phase !== 'Pending' || pod.spec.nodeName === undefined || isTerminating(pod)) return;
    const { name, uid } = pod.metadata;
    clock.after(chance.between(1_000, 4_000), () => {
      const current = store.get('Pod', name);
      if (current?.metadata.uid !== uid || current.status?.phase !== 'Pending' || isTerminating(current))
        return;
      if (!isUp(current.spec.nodeName)) return;
      store.update('Pod', name, (bound) => ({
        ...setCondition(bound, { type: 'Ready', status: 'True' }, clock.now()),
        status: {
          ...setCondition(bound, { type: 'Ready', status: 'True' }, clock.now()).status,
          phase: 'Running',
          startTime: stamp(clock.now()),
        },
      }));
    });
  }

  function terminate(name: string, lostTo: LostTo, why: string): void {
    const pod = store.get('Pod', name);
    if (pod === undefined || isTerminating(pod)) return;
    if (!isTerminal(pod)) losses.set(pod.metadata.uid, { lostTo, why });
    const { uid } = pod.metadata;
    const deletionTimestamp = stamp(new Date(now(world) + podGraceMs));
    store.update('Pod', name, (current) => ({
      ...current,
      metadata: { ...current.metadata, deletionTimestamp },
    }));
    clock.after(chance.between(1_000, 5_000), () => {
      const current = store.get('Pod', name);
      // Without its kubelet it stays Terminating until its node is gone.
      if (
        current?.metadata.uid !== uid ||
        (current.spec.nodeName !== undefined && !isUp(current.spec.nodeName))
      )
        return;
      store.remove('Pod', name);
    });
  }

  store.watch('Pod', ({ before, after }) => {
    if (after === undefined || before?.spec.nodeName === after.spec.nodeName || !isUp(after.spec.nodeName))
      return;
    start(after);
  });

  return {
    boot,
    terminate,
    lose: (name, lostTo, why) => {
      const pod = store.get('Pod', name);
      if (pod === undefined) return;
      if (!isTerminal(pod) && !losses.has(pod.metadata.uid)) losses.set(pod.metadata.uid, { lostTo, why });
      store.remove('Pod', name);
    },
    lossOf: (uid) => losses.get(uid),
    end: (name, phase) => {
      store.update('Pod', name, (current) => ({
        ...current,
        status: {
          ...current.status,
          phase,
          conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }],
          containerStatuses: [{ state: { terminated: { finishedAt: stamp(clock.now()) } } }],
        },
      }));
    },
    setReady,
  };
}
