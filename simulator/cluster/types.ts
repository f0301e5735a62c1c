/** What a scenario can put into the cluster, and how its Karpenter behaves. */
import type { BuildReport, Chance, Gate, Machines, VirtualClock } from '../parts.ts';
import type { Store } from './store.ts';

export interface KarpenterSettings {
  /** From the CreateFleet call until the NodeClaim is Launched. */
  launchMs: number;
  /** From Launched until the Node registers. */
  registerMs: number;
  /** From Registered until Initialized. */
  initializeMs: number;
  /** `none`: CreateFleet finds no capacity; `afterMs`: none until so long after the start. */
  capacity: 'ok' | 'none' | { afterMs: number };
  /**
   * Milliseconds until the class is Ready at a new generation. `never`: Ready=False at each generation whose spec
   * is not the one of the start (a service control policy that refuses the new options does not refuse the old).
   */
  classReady: number | 'never';
  /** The feature gate of that name; off without. */
  nodeRepair?: boolean;
  /** CPUs of the nodes that it launches; 4 without. */
  launchedCpu?: number;
}

export interface ClusterOptions {
  name: string;
  clock: VirtualClock;
  chance: Chance;
  machines: Machines;
  gate: Gate;
  karpenter: KarpenterSettings;
  /** How far the API server's clock is ahead of the others; 0 without. */
  clockAheadMs?: number;
  /** Fixes how long a binding is in flight; by chance (20–400 ms) without. */
  bindingLagMs?: number;
}

export interface MetadataFields {
  httpTokens?: 'optional' | 'required';
  httpPutResponseHopLimit?: number;
  httpEndpoint?: 'enabled' | 'disabled';
}

export interface ClassSpec extends MetadataFields {
  /** By chance without. */
  uid?: string;
  owners?: readonly {
    manager: string;
    fields: readonly string[];
    /** `Apply`: server-side apply, the default; `Update`: client-side apply, Helm 3, kubectl edit. */
    operation?: 'Apply' | 'Update';
  }[];
}

export interface PoolSpec {
  class: string;
  /** EC2NodeClass without. */
  classKind?: string;
  limits?: { cpu?: number; nodes?: number };
  /** Karpenter's own; `[{nodes: "10%"}]` without. */
  budgets?: readonly { nodes: string; schedule?: string; duration?: string; reasons?: readonly string[] }[];
  /** null: Never. */
  consolidateAfterMs: number | null;
  /** 720 h without; null: Never. */
  expireAfterMs?: number | null;
  terminationGracePeriodMs?: number | null;
  /** A static pool keeps so many nodes. */
  replicas?: number | null;
  /** Whether its nodes carry the label and taint of build nodes; without, only those of the pool `build`. */
  builds?: boolean;
}

export interface NodeSpec extends MetadataFields {
  name?: string;
  pool: string;
  /** 4 without. */
  cpu?: number;
  /** Same as httpPutResponseHopLimit. */
  hopLimit?: number;
  doNotDisrupt?: boolean;
  ready?: boolean;
  /** Since its NodeClaim was created, in milliseconds; by the order of the nodes without. */
  ageMs?: number | null;
  cordoned?: boolean;
  /** The text of the service's own annotation. */
  hold?: string | null;
  /** Its NodeClaim has the hash of a class of before. */
  drifted?: boolean;
}

export interface PodSpec {
  name: string;
  node: string;
  /** `builds` without. */
  namespace?: string;
  /** The owner's kind; null or absent: nobody. A Deployment owns it through a ReplicaSet. */
  ownedBy?: string | null;
  /** The owner's name; the pod's without its last part where absent. */
  owner?: string;
  /** Of the owner; as many as there are pods of it where absent. */
  replicas?: number;
  image?: string;
  /** `default` without. */
  serviceAccount?: string;
  privileged?: boolean;
  cpu?: number;
  hostNetwork?: boolean;
  /** The PodDisruptionBudget that covers it. */
  pdb?: string | null;
  /** false: the budget allows no eviction (one is made where none is named). */
  evictable?: boolean;
  /** The pod's own annotation. */
  doNotDisrupt?: boolean;
  labels?: Record<string, string>;
}

export interface ServiceAccountSpec {
  name: string;
  /** `builds` without. */
  namespace?: string;
  /** Of IRSA. */
  role?: string;
  podIdentity?: boolean;
}

export interface BuildSpec {
  name: string;
  /** `builds` without. */
  namespace?: string;
  /** Bound and running there; without, a Pending Build appears. */
  node?: string;
  runsForMs: number;
  startedAgoMs?: number;
  cpu?: number;
  usesImds?: 'none' | 'v1' | 'v2-pod' | 'v2-nested';
  /** Counted from the start of the Build; half-way without. */
  usesImdsAtMs?: number;
  labels?: Record<string, string>;
}

/** A BuildReport, and when it ended. */
export interface SimulatedBuildReport extends BuildReport {
  /** ISO 8601; absent while it is unfinished. */
  endedAt?: string;
}

/** What every part of the cluster shares. */
export interface World {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly machines: Machines;
  readonly store: Store;
  readonly settings: KarpenterSettings;
  readonly startedAt: number;
}

export function now(world: World): number {
  return world.clock.now().getTime();
}
