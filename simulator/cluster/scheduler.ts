/**
 * kube-scheduler: about once a second it puts pending pods on nodes as it last saw them, and binds in a second step.
 * A binding in flight is not stopped by a cordon: the API server does not look at the node again.
 */
import type { Node, Pod } from '../../rollout/kubernetes.ts';
import { isTrue, setCondition } from './conditions.ts';
import type { Events } from './events.ts';
import { cpuOf, unschedulableTaint } from './names.ts';
import { cpuRequest, isActive, isTerminal, selects, tolerates } from './pods.ts';
import { Ticker } from './process.ts';
import { now, type World } from './types.ts';

const cycleMs = 1_000;
/** How far its cache is behind the API server. */
const watchLag = [5, 150] as const;
const bindingLag = [20, 400] as const;
/** What its Events say again only after a while. */
const repeatMs = 5 * 60_000;

export function createScheduler(world: World, events: Events, bindingLagMs: number | undefined): void {
  const { store, clock, chance } = world;
  const seen = new Map<string, Node>();
  /** Pods whose binding is in flight, and the node's name: assumed to run there. */
  const assumed = new Map<string, string>();
  const assumedCpu = new Map<string, number>();
  const complainedAt = new Map<string, number>();

  const ticker = new Ticker(
    (milliseconds, action) => {
      clock.after(milliseconds, action);
    },
    cycleMs,
    cycle,
  );

  /** What found no room is tried again when something changes that could make room. */
  function cycle(): boolean {
    for (const pod of [...store.unboundPods()])
      if (isActive(pod) && !assumed.has(pod.metadata.name)) schedule(pod);
    return false;
  }

  function tryAgain(): void {
    for (const _ of store.unboundPods()) {
      ticker.wake(chance.between(50, cycleMs));
      return;
    }
  }

  function schedule(pod: Pod): void {
    const cpu = cpuRequest(pod);
    let best: { name: string; free: number } | undefined;
    for (const node of seen.values()) {
      if (!isUsable(node, pod)) continue;
      const free = freeCpu(node);
      if (free < cpu || (best !== undefined && free <= best.free)) continue;
      best = { name: node.metadata.name, free };
    }
    if (best === undefined) {
      refuse(pod);
      return;
    }
    bind(pod, best.name, cpu);
  }

  function isUsable(node: Node, pod: Pod): boolean {
    if (node.spec.unschedulable === true && !tolerates(pod, [unschedulableTaint])) return false;
    return isTrue(node, 'Ready') && tolerates(pod, node.spec.taints) && selects(pod, node.metadata.labels);
  }

  function freeCpu(node: Node): number {
    const { name } = node.metadata;
    let free = cpuOf(node.status?.allocatable?.['cpu']) - (assumedCpu.get(name) ?? 0);
    for (const pod of store.podsOn(name)) if (!isTerminal(pod)) free -= cpuRequest(pod);
    return free;
  }

  function bind(pod: Pod, node: string, cpu: number): void {
    const { name, uid } = pod.metadata;
    assumed.set(name, node);
    assumedCpu.set(node, (assumedCpu.get(node) ?? 0) + cpu);
    clock.after(bindingLagMs ?? chance.between(...bindingLag), () => {
      assumed.delete(name);
      assumedCpu.set(node, (assumedCpu.get(node) ?? 0) - cpu);
      const current = store.get('Pod', name);
      if (current?.metadata.uid !== uid || !isActive(current)) return;
      if (store.get('Node', node) === undefined) {
        // The pod collector would delete a pod on a node that is gone; here it is scheduled again.
        tryAgain();
        return;
      }
      store.update('Pod', name, (unbound) => ({
        ...setCondition(unbound, { type: 'PodScheduled', status: 'True' }, clock.now()),
        spec: { ...unbound.spec, nodeName: node },
      }));
    });
  }

  function refuse(pod: Pod): void {
    const message = `0/${seen.size} nodes are available: no fitting node has room.`;
    store.update('Pod', pod.metadata.name, (current) =>
      setCondition(
        current,
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
        clock.now(),
      ),
    );
    const at = now(world);
    if (at - (complainedAt.get(pod.metadata.uid) ?? -repeatMs) < repeatMs) return;
    complainedAt.set(pod.metadata.uid, at);
    const { name, uid } = pod.metadata;
    events.write(
      { type: 'Warning', reason: 'FailedScheduling', message, regarding: { kind: 'Pod', name, uid } },
      'default-scheduler',
      pod.metadata.namespace,
    );
  }

  store.watch('Node', ({ before, after }) => {
    const name = (after ?? before)?.metadata.name ?? '';
    clock.after(chance.between(...watchLag), () => {
      // Watch events may overtake each other here, so it is the object as it is now that is seen.
      const current = store.get('Node', name);
      if (current === undefined) seen.delete(name);
      else seen.set(name, current);
      tryAgain();
    });
  });
  store.watch('Pod', ({ before, after }) => {
    const unbound = after !== undefined && after.spec.nodeName === undefined && isActive(after);
    const freed = after === undefined || (isTerminal(after) && !(before !== undefined && isTerminal(before)));
    if (freed || (before === undefined && unbound)) tryAgain();
    if (after === undefined && before !== undefined) complainedAt.delete(before.metadata.uid);
  });
}
