/**
 * What etcd and the API server's registry keep: every object by kind and name, with resourceVersion, generation,
 * finalizers and watches. Objects are never changed in place. Watchers must not write at once; they schedule.
 */
import type { Kind, Node, NodeClaim, ObjectMeta, ObjectsByKind, Pod } from '../../rollout/kubernetes.ts';
import type { Chance, VirtualClock } from '../parts.ts';
import { equal } from './json.ts';
import { nodePoolLabel, stamp } from './names.ts';

export interface Change<K extends Kind> {
  kind: K;
  before?: ObjectsByKind[K];
  /** Absent once it is gone. */
  after?: ObjectsByKind[K];
}

/** An object to create: the registry adds uid, versions and times. */
export type Draft<K extends Kind> = Omit<ObjectsByKind[K], 'metadata'> & {
  metadata: Omit<ObjectMeta, 'uid' | 'resourceVersion' | 'creationTimestamp'> & {
    /** By chance where absent. */
    uid?: string;
    creationTimestamp?: string;
  };
};

type Objects = { [K in Kind]: Map<string, ObjectsByKind[K]> };
type Watchers = { [K in Kind]: ((change: Change<K>) => void)[] };

/** Kinds whose spec is counted by metadata.generation. */
const counted: ReadonlySet<Kind> = new Set<Kind>([
  'EC2NodeClass',
  'NodePool',
  'NodeClaim',
  'PodDisruptionBudget',
]);

/** Karpenter's Events repeat for ever, on nodes where nothing happens: they are no change of the cluster. */
const quiet: ReadonlySet<Kind> = new Set<Kind>(['Event']);

function perKind<T>(make: () => T): Record<Kind, T> {
  return {
    EC2NodeClass: make(),
    NodePool: make(),
    NodeClaim: make(),
    Node: make(),
    Pod: make(),
    PodDisruptionBudget: make(),
    Lease: make(),
    Event: make(),
    DaemonSet: make(),
    ReplicaSet: make(),
    StatefulSet: make(),
    ServiceAccount: make(),
  };
}

export class Store {
  /** Counts every change but those of Events: what nothing changed since needs no pass. */
  revision = 0;
  changedAt: Date;
  readonly #clock: VirtualClock;
  readonly #chance: Chance;
  readonly #objects: Objects = perKind(() => new Map());
  readonly #watchers: Watchers = perKind(() => []);
  readonly #changeListeners: (() => void)[] = [];
  readonly #podsByNode = new Map<string, Map<string, Pod>>();
  readonly #unboundPods = new Map<string, Pod>();
  readonly #claimsByPool = new Map<string, Map<string, NodeClaim>>();
  readonly #claimByProvider = new Map<string, string>();
  readonly #nodeByProvider = new Map<string, string>();
  #resourceVersion = 1_000;

  constructor(clock: VirtualClock, chance: Chance) {
    this.#clock = clock;
    this.#chance = chance;
    this.changedAt = clock.now();
  }

  get<K extends Kind>(kind: K, name: string): ObjectsByKind[K] | undefined {
    return this.#objects[kind].get(name);
  }

  /** Live references in order of creation: to read, never to change. */
  all<K extends Kind>(kind: K): Iterable<ObjectsByKind[K]> {
    return this.#objects[kind].values();
  }

  count(kind: Kind): number {
    return this.#objects[kind].size;
  }

  podsOn(node: string): Iterable<Pod> {
    return this.#podsByNode.get(node)?.values() ?? [];
  }

  unboundPods(): Iterable<Pod> {
    return this.#unboundPods.values();
  }

  claimsOf(pool: string): Iterable<NodeClaim> {
    return this.#claimsByPool.get(pool)?.values() ?? [];
  }

  nodeOf(claim: NodeClaim): Node | undefined {
    const provider = claim.status?.providerID;
    const name = provider === undefined ? undefined : this.#nodeByProvider.get(provider);
    return name === undefined ? undefined : this.get('Node', name);
  }

  claimOf(node: Node): NodeClaim | undefined {
    const name =
      node.spec.providerID === undefined ? undefined : this.#claimByProvider.get(node.spec.providerID);
    return name === undefined ? undefined : this.get('NodeClaim', name);
  }

  claimWithProvider(providerID: string): NodeClaim | undefined {
    const name = this.#claimByProvider.get(providerID);
    return name === undefined ? undefined : this.get('NodeClaim', name);
  }

  create<K extends Kind>(kind: K, draft: Draft<K>): ObjectsByKind[K] {
    const { name } = draft.metadata;
    if (this.#objects[kind].has(name))
      throw new Error(`${kind} ${name} exists already in the simulated cluster`);
    const metadata: ObjectMeta = {
      ...draft.metadata,
      uid: draft.metadata.uid ?? this.#uid(),
      resourceVersion: this.#nextVersion(),
      creationTimestamp: draft.metadata.creationTimestamp ?? stamp(this.#clock.now()),
      ...(counted.has(kind) ? { generation: 1 } : {}),
    };
    const object = { ...draft, metadata } as unknown as ObjectsByKind[K];
    this.#put({ kind, after: object });
    return object;
  }

  /**
   * Writes the object that `change` makes of the present one; nothing is written, and no new resourceVersion given,
   * where nothing changes. Returns what is stored then, undefined where there is none of that name.
   */
  update<K extends Kind>(
    kind: K,
    name: string,
    change: (current: ObjectsByKind[K]) => ObjectsByKind[K],
  ): ObjectsByKind[K] | undefined {
    const before = this.get(kind, name);
    if (before === undefined) return undefined;
    const wanted = change(before);
    if (wanted === before || equal(wanted, before)) return before;
    const beforeSpec = 'spec' in before ? before.spec : undefined;
    const wantedSpec = 'spec' in wanted ? wanted.spec : undefined;
    const generation = before.metadata.generation;
    const metadata: ObjectMeta = { ...wanted.metadata, resourceVersion: this.#nextVersion() };
    if (generation !== undefined)
      metadata.generation = equal(beforeSpec, wantedSpec) ? generation : generation + 1;
    const after = { ...wanted, metadata } as ObjectsByKind[K];
    this.#put({ kind, before, after });
    // A pod's deletion waits for its kubelet, any other object's for its finalizers.
    if (
      kind !== 'Pod' &&
      metadata.deletionTimestamp !== undefined &&
      (metadata.finalizers ?? []).length === 0
    ) {
      this.remove(kind, name);
    }
    return after;
  }

  /** The same Event once more: its time moves. Apart from `update`, for there are thousands of them. */
  repeatEvent(name: string, lastTimestamp: string): boolean {
    const event = this.#objects.Event.get(name);
    if (event === undefined) return false;
    const metadata = { ...event.metadata, resourceVersion: this.#nextVersion() };
    this.#objects.Event.set(name, { ...event, metadata, lastTimestamp });
    return true;
  }

  /** DELETE: at once without finalizers, else deletionTimestamp is set and the finalizers are waited for. */
  delete(kind: Kind, name: string): void {
    const object = this.get(kind, name);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    if ((object.metadata.finalizers ?? []).length === 0) {
      this.remove(kind, name);
      return;
    }
    const deletionTimestamp = stamp(this.#clock.now());
    this.update(kind, name, (current) => ({
      ...current,
      metadata: { ...current.metadata, deletionTimestamp },
    }));
  }

  /** Gone, whatever its finalizers. */
  remove(kind: Kind, name: string): void {
    const before = this.get(kind, name);
    if (before !== undefined) this.#put({ kind, before });
  }

  watch<K extends Kind>(kind: K, listener: (change: Change<K>) => void): void {
    this.#watchers[kind].push(listener);
  }

  onChange(listener: () => void): void {
    this.#changeListeners.push(listener);
  }

  #put<K extends Kind>(change: Change<K>): void {
    const { kind, before, after } = change;
    const name = (after ?? before)?.metadata.name ?? '';
    if (after === undefined) this.#objects[kind].delete(name);
    else this.#objects[kind].set(name, after);
    this.#index(change);
    if (!quiet.has(kind)) {
      this.revision += 1;
      this.changedAt = this.#clock.now();
    }
    for (const watcher of this.#watchers[kind]) watcher(change);
    if (!quiet.has(kind)) for (const listener of this.#changeListeners) listener();
  }

  #index(change: { kind: Kind; before?: ObjectsByKind[Kind]; after?: ObjectsByKind[Kind] }): void {
    const { before, after } = change;
    if (before?.kind === 'Pod' && before.spec.nodeName !== (after as Pod | undefined)?.spec.nodeName) {
      this.#unindexPod(before);
    }
    if (after?.kind === 'Pod') this.#indexPod(after);
    else if (before?.kind === 'Pod') this.#unindexPod(before);
    if (after?.kind === 'NodeClaim') this.#indexClaim(after);
    else if (before?.kind === 'NodeClaim') {
      this.#claimsByPool.get(before.metadata.labels?.[nodePoolLabel] ?? '')?.delete(before.metadata.name);
      if (before.status?.providerID !== undefined) this.#claimByProvider.delete(before.status.providerID);
    }
    if (after?.kind === 'Node' && after.spec.providerID !== undefined) {
      this.#nodeByProvider.set(after.spec.providerID, after.metadata.name);
    } else if (before?.kind === 'Node' && before.spec.providerID !== undefined) {
      this.#nodeByProvider.delete(before.spec.providerID);
    }
  }

  #indexPod(pod: Pod): void {
    const { name } = pod.metadata;
    if (pod.spec.nodeName === undefined) {
      this.#unboundPods.set(name, pod);
      return;
    }
    let pods = this.#podsByNode.get(pod.spec.nodeName);
    if (pods === undefined) this.#podsByNode.set(pod.spec.nodeName, (pods = new Map<string, Pod>()));
    pods.set(name, pod);
  }

  #unindexPod(pod: Pod): void {
    if (pod.spec.nodeName === undefined) this.#unboundPods.delete(pod.metadata.name);
    else this.#podsByNode.get(pod.spec.nodeName)?.delete(pod.metadata.name);
  }

  #indexClaim(claim: NodeClaim): void {
    const pool = claim.metadata.labels?.[nodePoolLabel] ?? '';
    let claims = this.#claimsByPool.get(pool);
    if (claims === undefined) this.#claimsByPool.set(pool, (claims = new Map<string, NodeClaim>()));
    claims.set(claim.metadata.name, claim);
    if (claim.status?.providerID !== undefined) {
      this.#claimByProvider.set(claim.status.providerID, claim.metadata.name);
    }
  }

  #nextVersion(): string {
    this.#resourceVersion += 1;
    return String(this.#resourceVersion);
  }

  #uid(): string {
    const part = (digits: number): string =>
      Math.floor(this.#chance.next() * 16 ** digits)
        .toString(16)
        .padStart(digits, '0');
    return `${part(8)}-${part(4)}-4${part(3)}-a${part(3)}-${part(12)}`;
  }
}
