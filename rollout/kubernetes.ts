/**
 * The part of Kubernetes' and Karpenter's objects that a rollout reads, in their own words and shapes, so that an
 * adapter passes on what the API server answered. Sources: k8s.io/api v0.34, karpenter.sh/v1 and
 * karpenter.k8s.aws/v1 CRDs of Karpenter 1.14.
 */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

/** One entry of metadata.managedFields; fieldsV1 is a tree of `f:<field>` keys. */
export interface ManagedFieldsEntry {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time?: string;
  fieldsType: 'FieldsV1';
  fieldsV1: Record<string, unknown>;
  subresource?: string;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  /** Counts changes of spec; absent on kinds without one (Pod, Node, Event). */
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface Toleration {
  key?: string;
  operator?: 'Exists' | 'Equal';
  value?: string;
  effect?: string;
}

export interface NodeSelectorRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

/** spec.metadataOptions of an EC2NodeClass. The CRD defaults each absent field on its own. */
export interface NodeClassMetadataOptions {
  httpEndpoint?: 'enabled' | 'disabled';
  httpProtocolIPv6?: 'enabled' | 'disabled';
  httpPutResponseHopLimit?: number;
  httpTokens?: 'optional' | 'required';
}

export interface EC2NodeClass {
  kind: 'EC2NodeClass';
  metadata: ObjectMeta;
  spec: { metadataOptions?: NodeClassMetadataOptions; [other: string]: unknown };
  status?: { conditions?: Condition[]; [other: string]: unknown };
}

interface NodeClassReference {
  group: string;
  kind: string;
  name: string;
}

export interface NodePool {
  kind: 'NodePool';
  metadata: ObjectMeta;
  spec: {
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: {
        nodeClassRef: NodeClassReference;
        requirements?: NodeSelectorRequirement[];
        taints?: Taint[];
        startupTaints?: Taint[];
        expireAfter?: string;
        terminationGracePeriod?: string;
      };
    };
    disruption?: {
      consolidationPolicy?: string;
      consolidateAfter?: string;
      budgets?: { nodes: string; schedule?: string; duration?: string; reasons?: string[] }[];
    };
    limits?: Record<string, string | number>;
    /** Only on static pools: the number of nodes kept, whatever the pods. */
    replicas?: number;
  };
  status?: { conditions?: Condition[]; resources?: Record<string, string>; nodes?: number };
}

export interface NodeClaim {
  kind: 'NodeClaim';
  metadata: ObjectMeta;
  spec: {
    nodeClassRef: NodeClassReference;
    requirements?: NodeSelectorRequirement[];
    taints?: Taint[];
    terminationGracePeriod?: string;
    expireAfter?: string;
  };
  status?: {
    /** `aws:///<zone>/<instance id>`; absent until Launched. */
    providerID?: string;
    /** Absent until Registered. */
    nodeName?: string;
    conditions?: Condition[];
    capacity?: Record<string, string>;
  };
}

export interface Node {
  kind: 'Node';
  metadata: ObjectMeta;
  spec: { providerID?: string; unschedulable?: boolean; taints?: Taint[] };
  status?: {
    conditions?: Condition[];
    allocatable?: Record<string, string>;
    capacity?: Record<string, string>;
  };
}

interface Container {
  name: string;
  image?: string;
  /** Without `value` where it comes from elsewhere (valueFrom). */
  env?: { name: string; value?: string }[];
  resources?: { requests?: Record<string, string> };
  securityContext?: { privileged?: boolean };
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: {
      requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] };
    };
  };
  tolerations?: Toleration[];
  hostNetwork?: boolean;
  serviceAccountName?: string;
  containers?: Container[];
}

export interface Pod {
  kind: 'Pod';
  metadata: ObjectMeta;
  spec: PodSpec;
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    conditions?: Condition[];
    /** When its kubelet took it on; absent before. */
    startTime?: string;
    /** Of a pod as a whole, e.g. Evicted, NodeShutdown. */
    reason?: string;
    containerStatuses?: { state?: { terminated?: { finishedAt?: string } } }[];
  };
}

export interface PodDisruptionBudget {
  kind: 'PodDisruptionBudget';
  metadata: ObjectMeta;
  spec: { selector?: { matchLabels?: Record<string, string> } };
  status?: { disruptionsAllowed?: number };
}

export interface DaemonSet {
  kind: 'DaemonSet';
  metadata: ObjectMeta;
  spec: { template: { metadata?: { labels?: Record<string, string> }; spec: PodSpec } };
}

/** Its owner, where it has one, is what people know: a Deployment. */
export interface ReplicaSet {
  kind: 'ReplicaSet';
  metadata: ObjectMeta;
  /** Absent is 1, as the API server fills in. */
  spec: { replicas?: number };
}

export interface StatefulSet {
  kind: 'StatefulSet';
  metadata: ObjectMeta;
  spec: { replicas?: number };
}

export interface ServiceAccount {
  kind: 'ServiceAccount';
  metadata: ObjectMeta;
}

export interface Lease {
  kind: 'Lease';
  metadata: ObjectMeta;
  spec: {
    holderIdentity?: string;
    acquireTime?: string;
    renewTime?: string;
    /** How long after acquireTime one who held it before may still write; absent where nobody did. */
    leaseDurationSeconds?: number;
    /** Kubernetes' own count of changes of holder; a rollout uses it as the epoch. */
    leaseTransitions?: number;
  };
}

/** A core/v1 Event as read: what it regards and says. */
export interface Event {
  kind: 'Event';
  metadata: ObjectMeta;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  involvedObject: { kind: string; name: string; uid?: string };
  lastTimestamp?: string;
  source?: { component: string };
}

export interface ObjectsByKind {
  EC2NodeClass: EC2NodeClass;
  NodePool: NodePool;
  NodeClaim: NodeClaim;
  Node: Node;
  Pod: Pod;
  PodDisruptionBudget: PodDisruptionBudget;
  Lease: Lease;
  Event: Event;
  DaemonSet: DaemonSet;
  ReplicaSet: ReplicaSet;
  StatefulSet: StatefulSet;
  ServiceAccount: ServiceAccount;
}

export type Kind = keyof ObjectsByKind;

/** The kinds that a rollout writes. */
export type WrittenKind = 'EC2NodeClass' | 'NodeClaim' | 'Node' | 'Lease';

/** An RFC 7396 merge patch: null removes a key, arrays are replaced whole. */
export interface MergePatch {
  [key: string]: MergePatchValue;
}
type MergePatchValue = string | number | boolean | null | MergePatchValue[] | MergePatch;
