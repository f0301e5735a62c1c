/**
 * What a rollout needs of the world. Every implementation (the simulator's and the real neighbours') passes the same
 * contract suite. Ports throw the errors of errors.ts and nothing is defaulted in them: an absent answer stays absent.
 */
import type { Approval } from './approval.ts';
import type { AccountMetadataDefaults, Instance, MetadataOptionsRequest } from './ec2.ts';
import type { Kind, MergePatch, ObjectsByKind, Pod, WrittenKind } from './kubernetes.ts';
import type { RolloutRecord } from './record.ts';

export interface Clock {
  now(): Date;
}

export interface StoredParameter {
  /** The name below /racks/<rack>/, e.g. `imds_http_tokens`. */
  key: string;
  value: string;
  type: 'String' | 'StringList' | 'SecureString';
  /** Starts at 1 again after a delete: no generation by itself. */
  version: number;
  lastModifiedDate: string;
  /** Who wrote this version, where the account tells (GetParameterHistory). */
  lastModifiedUser?: string;
}

/** Parameter Store below the rack's prefix, read only. */
export interface Parameters {
  /** Every parameter of the rack, all pages. An unknown rack has none. */
  list(rack: string): Promise<StoredParameter[]>;
  /** All kept versions of one parameter, oldest first; empty where it does not exist. */
  history(rack: string, key: string): Promise<StoredParameter[]>;
}

/** Which cluster, pool and class belong to a rack: written by `rack add`, never by a parameter. */
export interface Registration {
  rack: string;
  cluster: string;
  /** The NodePool whose nodes run Builds. */
  nodePool: string;
}

/**
 * The service's memory, under its own prefix. Parameter Store compares nothing when it writes, so that who writes is a
 * convention: whoever holds the Lease, else reconcile, and the end of an execution that had no turn adds its outcome.
 */
export interface Records {
  registrations(): Promise<Registration[]>;
  /** Of one rack; undefined where it is not registered. */
  registration(rack: string): Promise<Registration | undefined>;
  /** An empty record (see emptyRecord) where none was written. */
  read(rack: string): Promise<RolloutRecord>;
  write(rack: string, record: RolloutRecord): Promise<void>;
}

/** A task token of the workflow, which lets whoever has it end the wait of an execution. */
export interface WaitToken {
  execution: string;
  token: string;
}

/** What a rack's rollouts wait for a person with, beside the record; the function `approve` alone writes it. */
export interface Approvals {
  /** See noApproval (approval.ts) where nothing was ever asked. */
  read(rack: string): Promise<Approval>;
  write(rack: string, approval: Approval): Promise<void>;
}

/** The token of a rack's wait, apart from all that others may read: the function `approve` alone reads and writes it. */
export interface WaitTokens {
  /** Decrypted; undefined where no wait has one. */
  read(rack: string): Promise<WaitToken | undefined>;
  /** Encrypted, in the place of the one before. */
  keep(rack: string, token: WaitToken): Promise<void>;
  /** The wait of this token is over: it is deleted, unless another one is kept by now. */
  forget(rack: string, token: WaitToken): Promise<void>;
}

/** What somebody wants decided. A proof of identity is made for one claim and counts for no other. */
export interface Claim {
  rack: string;
  hash: string;
  decision: 'approved' | 'rejected';
  reason: string;
}

export interface Identities {
  /** The ARN of who made the proof for this claim. Throws InvalidError where nobody can be told from it. */
  verify(proof: string, claim: Claim): Promise<string>;
}

export interface Instances {
  /**
   * Instances tagged for the cluster and class, and those with the ids, together, each once. Terminated instances and
   * ids that EC2 no longer knows are left out.
   */
  find(query: { cluster: string; nodeClass: string; instanceIds: readonly string[] }): Promise<Instance[]>;
  /**
   * ModifyInstanceMetadataOptions on one instance. All options are sent, since omitted ones are kept by EC2 but not
   * by everything that speaks its API. Returns when EC2 accepted; DescribeInstances says `pending`, later `applied`.
   */
  modifyMetadataOptions(instanceId: string, options: MetadataOptionsRequest): Promise<void>;
  accountDefaults(): Promise<AccountMetadataDefaults>;
}

/** An Event to be written about an object of the cluster (cluster-scoped objects' Events live in `default`). */
export interface ClusterEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  regarding: { kind: Kind; name: string; uid: string };
}

/** One cluster's API server, as the service's own user. */
export interface Cluster {
  /** undefined where there is none of that name (404). */
  get<K extends Kind>(kind: K, name: string): Promise<ObjectsByKind[K] | undefined>;
  /** All pages, all namespaces. Of pods only those not finished (phase neither Succeeded nor Failed). */
  list<K extends Kind>(kind: K): Promise<ObjectsByKind[K][]>;
  /** Those that ended well (phase Succeeded) and are still there. */
  finishedPods(): Promise<Pod[]>;
  /** Pods of a node whose phase is Failed, of all namespaces, as long as nobody has deleted them. */
  failedPods(node: string): Promise<Pod[]>;
  /**
   * A JSON merge patch with fieldManager `imds-rollout` and strict field validation. Guarded where the patch carries
   * metadata.resourceVersion: ConflictError if the object has another one.
   */
  patch<K extends WrittenKind>(kind: K, name: string, patch: MergePatch): Promise<ObjectsByKind[K]>;
  emit(event: ClusterEvent): Promise<void>;
}

export interface Clusters {
  /** Connects by name (endpoint, CA and token from EKS). Throws TransientError or ForbiddenError. */
  connect(cluster: string): Promise<Cluster>;
}

export interface Execution {
  name: string;
  startedAt: string;
  /** Absent while it runs. */
  endedAt?: string;
  status: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';
}

/** The state machine. */
export interface Workflow {
  /**
   * StartExecution with input `{rack}`. `started`: it runs now, also where one of that name and input ran already, which
   * Step Functions answers in the same way; `closed`: the name was used by an execution that ended.
   */
  start(name: string, rack: string): Promise<'started' | 'closed'>;
  /** Every RUNNING execution of the state machine. */
  running(): Promise<Execution[]>;
  /** undefined where there never was one of that name. */
  describe(name: string): Promise<Execution | undefined>;
  /**
   * SendTaskSuccess: ends the wait of a task with its result. `gone` where it does not wait any more; InvalidError for
   * what is no token. The token is in no error.
   */
  answer(token: string, result: unknown): Promise<'answered' | 'gone'>;
  /**
   * With which results the waits of an execution for a task token were ended, oldest first (GetExecutionHistory, which
   * may lag behind by a moment). None where there is no such execution.
   */
  answers(name: string): Promise<unknown[]>;
}

/** The report bucket. Keys are as in S3. */
export interface Reports {
  put(key: string, body: string, contentType: string): Promise<void>;
  /** undefined where there is none. */
  get(key: string): Promise<string | undefined>;
  /** Keys with the prefix, in order. */
  list(prefix: string): Promise<string[]>;
}

/** What people are told, on EventBridge (source `imds-rollout`). */
export interface Notice {
  /** The detail-type, e.g. `IMDS Rollout Succeeded`. */
  type: string;
  detail: Record<string, unknown>;
}

export interface Notices {
  send(notice: Notice): Promise<void>;
}

/** What EC2 counts of the access to IMDS, in CloudWatch's namespace AWS/EC2. */
export interface MetadataMetrics {
  /**
   * How often something was counted from `since` until `until`, by instance, in whole periods of 5 minutes: the one
   * that `since` lies in counts. An instance without any datapoint is left out: it was not measured, which is no zero. `MetadataNoToken` counts successful accesses by IMDSv1, and only
   * while tokens are optional; `MetadataNoTokenRejected` counts the attempts, and only while they are required.
   */
  sums(query: {
    metric: 'MetadataNoToken' | 'MetadataNoTokenRejected';
    instanceIds: readonly string[];
    since: Date;
    until: Date;
  }): Promise<Map<string, number>>;
  /**
   * What is known of rejected calls, by instance, of the same periods. `CPUUtilization` is asked for beside
   * `MetadataNoTokenRejected`: whether EC2 publishes a zero of the latter is not documented, and a period in which
   * CloudWatch has either was measured. An instance of which it has neither is left out.
   */
  rejections(query: {
    instanceIds: readonly string[];
    since: Date;
    until: Date;
  }): Promise<Map<string, Rejections>>;
}

export interface Rejections {
  /** MetadataNoTokenRejected over all of the periods. */
  count: number;
  /** When the measured periods of 5 minutes began, the first one first. */
  measured: readonly Date[];
}

/** Which service accounts of a cluster get credentials from EKS Pod Identity. */
export interface PodIdentities {
  list(cluster: string): Promise<{ namespace: string; serviceAccount: string }[]>;
}

/** What a person's plan reads besides. Of functions only a look at a canary reads metrics. */
export interface PlanReads {
  metrics: Pick<MetadataMetrics, 'sums'>;
  podIdentities: PodIdentities;
}

/** All of them. A function takes only those that it uses. */
export interface Ports {
  clock: Clock;
  parameters: Parameters;
  records: Records;
  approvals: Approvals;
  waitTokens: WaitTokens;
  identities: Identities;
  instances: Instances;
  clusters: Clusters;
  workflow: Workflow;
  reports: Reports;
  notices: Notices;
  metrics: MetadataMetrics;
}

/** What whoever asks may have: all but the tokens of waits, which are the function `approve`'s alone. */
export type SharedPorts = Omit<Ports, 'waitTokens'>;
