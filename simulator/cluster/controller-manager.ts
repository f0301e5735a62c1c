/**
 * kube-controller-manager: the taints that follow a node's state, eviction from nodes that are not ready, the pod
 * collector, and the owners that run their pods again.
 */
import type { Node, Pod, Taint } from '../../rollout/kubernetes.ts';
import { conditionOf, isTrue } from './conditions.ts';
import type { Kubelets } from './kubelets.ts';
import { sameTaint, unreachableTaints, unschedulableTaint } from './names.ts';
import { isTerminal, isTerminating, ownedBy, untolerated } from './pods.ts';
import type { World } from './types.ts';

/** How long a pod stays on a node that is not reachable: the default toleration of every pod. */
const tolerationMs = 300_000;

export function createControllerManager(world: World, kubelets: Kubelets): void {
  const { store, clock, chance } = world;

  function setTaints(name: string, taints: readonly Taint[], present: boolean): void {
    store.update('Node', name, (node) => {
      const others = (node.spec.taints ?? []).filter((one) => !taints.some((taint) => sameTaint(one, taint)));
      return { ...node, spec: { ...node.spec, taints: present ? [...others, ...taints] : others } };
    });
  }

  function has(node: Node, taint: Taint): boolean {
    return node.spec.taints?.some((one) => sameTaint(one, taint)) === true;
  }

  function follow(name: string): void {
    const node = store.get('Node', name);
    if (node === undefined) return;
    const cordoned = node.spec.unschedulable === true;
    if (cordoned !== has(node, unschedulableTaint)) setTaints(name, [unschedulableTaint], cordoned);
    const unreachable = conditionOf(node, 'Ready')?.status === 'Unknown';
    if (unreachable !== unreachableTaints.every((taint) => has(node, taint))) {
      setTaints(name, unreachableTaints, unreachable);
    }
  }

  function evictFrom(name: string): void {
    const node = store.get('Node', name);
    if (node === undefined || isTrue(node, 'Ready')) return;
    for (const pod of [...store.podsOn(name)]) {
      if (isTerminal(pod) || isTerminating(pod) || ownedBy(pod, 'Node')) continue;
      if (
        untolerated(
          pod,
          unreachableTaints.filter((taint) => taint.effect === 'NoExecute'),
        ) === undefined
      )
        continue;
      kubelets.terminate(pod.metadata.name, 'notReady', `${name} was not ready for 5 minutes`);
    }
  }

  store.watch('Node', ({ before, after }) => {
    if (after === undefined) {
      if (before !== undefined) collectPods(before.metadata.name);
      return;
    }
    const { name } = after.metadata;
    const cordoned = after.spec.unschedulable === true;
    if (cordoned !== (before?.spec.unschedulable === true)) {
      clock.after(chance.between(100, 1_000), () => {
        follow(name);
      });
    }
    const was = before && conditionOf(before, 'Ready')?.status;
    const is = conditionOf(after, 'Ready')?.status;
    if (was === is || (is !== 'Unknown' && was !== 'Unknown')) return;
    clock.after(chance.between(100, 1_000), () => {
      follow(name);
    });
    if (is === 'Unknown') {
      clock.after(tolerationMs, () => {
        evictFrom(name);
      });
    }
  });

  function collectPods(node: string): void {
    clock.after(chance.between(100, 1_000), () => {
      for (const pod of [...store.podsOn(node)])
        kubelets.lose(pod.metadata.name, 'hand', `its node ${node} is gone`);
    });
  }

  function runAgain(pod: Pod, name: string): void {
    const { nodeName: _, ...spec } = pod.spec;
    const { namespace, labels, annotations, ownerReferences } = pod.metadata;
    clock.after(chance.between(300, 2_000), () => {
      if (store.get('Pod', name) !== undefined) return;
      store.create('Pod', {
        kind: 'Pod',
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          ...(labels === undefined ? {} : { labels }),
          ...(annotations === undefined ? {} : { annotations }),
          ...(ownerReferences === undefined ? {} : { ownerReferences }),
        },
        spec,
        status: { phase: 'Pending', conditions: [] },
      });
    });
  }

  store.watch('Pod', ({ before, after }) => {
    if (before === undefined) return;
    // A StatefulSet's successor has the same name and waits until the old pod is gone; a ReplicaSet's does not wait.
    if (after === undefined && ownedBy(before, 'StatefulSet')) runAgain(before, before.metadata.name);
    const leaves =
      after === undefined ? !isTerminating(before) : isTerminating(after) && !isTerminating(before);
    if (leaves && (ownedBy(before, 'ReplicaSet') || ownedBy(before, 'ReplicationController'))) {
      runAgain(before, successorName(before.metadata.name));
    }
  });

  function successorName(name: string): string {
    const suffix = Math.floor(chance.next() * 36 ** 5)
      .toString(36)
      .padStart(5, '0');
    return `${name.replace(/\.r[0-9a-z]{5}$/, '')}.r${suffix}`;
  }
}
