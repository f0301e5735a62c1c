/** Small stand-ins for the account's half of the simulator: a clock, chance, EC2 and a gate. */
import type { Instance } from '../../../rollout/ec2.ts';
import type { Chance, EndedBy, Gate, Machines, VirtualClock } from '../../../simulator/parts.ts';
import { createSimulatedCluster, type SimulatedCluster } from '../../../simulator/cluster/cluster.ts';
import type { KarpenterSettings } from '../../../simulator/cluster/types.ts';

export const second = 1_000;
export const minute = 60_000;
export const hour = 3_600_000;

interface Timer {
  at: number;
  order: number;
  action: () => void;
}

/** Virtual time on a binary heap: nothing sleeps. */
class FakeClock implements VirtualClock {
  #now = Date.parse('2026-03-02T09:00:00Z');
  #order = 0;
  readonly #heap: Timer[] = [];
  readonly #cancelled = new Set<number>();

  now(): Date {
    return new Date(this.#now);
  }

  after(milliseconds: number, action: () => void): () => void {
    this.#order += 1;
    const order = this.#order;
    this.#push({ at: this.#now + Math.max(0, milliseconds), order, action });
    return () => {
      this.#cancelled.add(order);
    };
  }

  every(milliseconds: number, action: () => void): () => void {
    let cancel = (): void => undefined;
    const again = (): void => {
      cancel = this.after(milliseconds, () => {
        again();
        action();
      });
    };
    again();
    return () => {
      cancel();
    };
  }

  advance(milliseconds: number): void {
    const until = this.#now + milliseconds;
    for (let next = this.#heap[0]; next !== undefined && next.at <= until; next = this.#heap[0]) {
      this.#pop();
      if (this.#cancelled.delete(next.order)) continue;
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = until;
  }

  #before(one: Timer, other: Timer): boolean {
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !this.#before(timer, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      const left = heap[child];
      if (left === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && this.#before(right, left)) child += 1;
      const smaller = heap[child];
      if (smaller === undefined || !this.#before(smaller, last)) break;
      heap[index] = smaller;
      index = child;
    }
    heap[index] = last;
  }
}

/** mulberry32. */
function fakeChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return { next, between: (low, high) => low + (high - low) * next() };
}

/** EC2 as the cluster needs it; instances end 30 s after TerminateInstances. */
class FakeMachines implements Machines {
  readonly instances = new Map<string, Instance>();
  readonly ended = new Map<string, EndedBy>();
  refusal: Error | undefined;
  readonly #clock: FakeClock;
  readonly #listeners: ((instance: Instance) => void)[] = [];
  #number = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  callImdsV1(): void {
    // Nobody reads what EC2 counts here.
  }

  launch(request: Parameters<Machines['launch']>[0]): Instance {
    if (this.refusal !== undefined) throw this.refusal;
    this.#number += 1;
    const instance: Instance = {
      instanceId: `i-${this.#number.toString(16).padStart(17, '0')}`,
      state: 'running',
      launchTime: this.#clock.now().toISOString(),
      metadataOptions: { state: 'applied', ...request.metadataOptions },
      tags: request.tags,
    };
    this.instances.set(instance.instanceId, instance);
    return instance;
  }

  get(instanceId: string): Instance | undefined {
    return this.instances.get(instanceId);
  }

  addTags(instanceId: string, tags: Record<string, string>): void {
    const instance = this.instances.get(instanceId);
    if (instance !== undefined)
      this.instances.set(instanceId, { ...instance, tags: { ...instance.tags, ...tags } });
  }

  terminate(instanceId: string, why: EndedBy): void {
    const instance = this.instances.get(instanceId);
    if (instance === undefined || instance.state === 'shutting-down') return;
    this.ended.set(instanceId, why);
    this.instances.set(instanceId, { ...instance, state: 'shutting-down' });
    this.#clock.after(30 * second, () => this.instances.delete(instanceId));
  }

  onApplied(listener: (instance: Instance) => void): void {
    this.#listeners.push(listener);
  }

  all(): readonly Instance[] {
    return [...this.instances.values()];
  }

  /** ModifyInstanceMetadataOptions, in force at once. */
  modify(instanceId: string, options: Partial<NonNullable<Instance['metadataOptions']>>): void {
    const instance = this.instances.get(instanceId);
    if (instance?.metadataOptions === undefined) return;
    const changed = { ...instance, metadataOptions: { ...instance.metadataOptions, ...options } };
    this.instances.set(instanceId, changed);
    for (const listener of this.#listeners) listener(changed);
  }
}

interface GateCall {
  api: string;
  write: boolean;
  target?: string;
  body?: unknown;
}

export interface Bench {
  cluster: SimulatedCluster;
  clock: FakeClock;
  machines: FakeMachines;
  calls: GateCall[];
  /** The instance of a node. */
  instance(node: string): Instance | undefined;
  endedBy(instanceId: string): EndedBy | undefined;
}

/** A cluster with a build and a workload pool of one class each, options optional/3. */
export function bench(
  options: {
    seed?: number;
    karpenter?: Partial<KarpenterSettings>;
    bindingLagMs?: number;
    clockAheadMs?: number;
  } = {},
): Bench {
  const clock = new FakeClock();
  const machines = new FakeMachines(clock);
  const calls: GateCall[] = [];
  const gate: Gate = {
    call: async (what, run) => {
      calls.push({ ...what, write: what.write ?? false });
      return run();
    },
  };
  const cluster = createSimulatedCluster({
    name: 'demo',
    clock,
    chance: fakeChance(options.seed ?? 1),
    machines,
    gate,
    karpenter: {
      launchMs: 45 * second,
      registerMs: 30 * second,
      initializeMs: 20 * second,
      capacity: 'ok',
      classReady: 2 * second,
      ...options.karpenter,
    },
    ...(options.bindingLagMs === undefined ? {} : { bindingLagMs: options.bindingLagMs }),
    ...(options.clockAheadMs === undefined ? {} : { clockAheadMs: options.clockAheadMs }),
  });
  cluster.addClass('build', { httpTokens: 'optional', httpPutResponseHopLimit: 3 });
  cluster.addClass('workload', { httpTokens: 'optional', httpPutResponseHopLimit: 3 });
  cluster.addPool('workload', { class: 'workload', consolidateAfterMs: null });
  return {
    cluster,
    clock,
    machines,
    calls,
    instance: (node) => {
      const providerID = cluster.object('Node', node)?.spec.providerID;
      return machines.get(providerID?.split('/').at(-1) ?? '');
    },
    endedBy: (instanceId) => machines.ended.get(instanceId),
  };
}
