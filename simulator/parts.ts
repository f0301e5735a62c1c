/**
 * How the simulator's parts see each other. The account (account/) holds Parameter Store, EC2, EventBridge, Step
 * Functions and S3; the cluster (cluster/) holds the API server, Karpenter, the scheduler and the Builds; the run
 * (run/) plays a scenario on both. Time is one virtual clock, chance one seeded generator, and everything that a
 * port does passes the gate, where faults, latency, counts and the audit are.
 */
import type { Instance, MetadataOptions } from '../rollout/ec2.ts';

/** Virtual time. Handlers see it through Date and setTimeout, which are replaced for the length of a run. */
export interface VirtualClock {
  now(): Date;
  /** Calls back once after so many milliseconds of virtual time; the function it returns cancels. */
  after(milliseconds: number, action: () => void): () => void;
  /** Calls back every so many milliseconds; the function it returns stops it. */
  every(milliseconds: number, action: () => void): () => void;
}

/** One seeded source for every random delay. */
export interface Chance {
  /** Uniform in [0, 1). */
  next(): number;
  between(low: number, high: number): number;
}

/** Who calls a port: a function of an execution, or a person or neighbour by name. */
export interface Caller {
  /** e.g. `observe`, `reconcile`, or `person` for kubectl, the console and the timeline. */
  function: string;
  execution?: string;
  /** Which of the function's invocations, where it is one. */
  invocation?: string;
}

/** One call of a port as it happened: what invariants and reports on calls are made from. */
export interface AuditEntry {
  at: Date;
  caller: Caller;
  /** `ec2:DescribeInstances`, `kubernetes:patch Node`, `ssm:GetParametersByPath`, `states:StartExecution`, … */
  api: string;
  write: boolean;
  /** What was addressed, e.g. a node's or instance's name. */
  target?: string;
  /** The body of a write. */
  body?: unknown;
  /** The error's name where it failed. */
  error?: string;
}

/** Every call of every port passes here. */
export interface Gate {
  /**
   * Applies the scenario's faults and latency for the api, counts, runs the call, audits it, passes its result on.
   * Who calls is known from the invocation that is running (AsyncLocalStorage), else it is a person.
   */
  call<T>(what: { api: string; write?: boolean; target?: string; body?: unknown }, run: () => T): Promise<T>;
}

/** What Karpenter and the Builds need of EC2. Strongly consistent: it is the truth, not the API. */
export interface Machines {
  /** Throws an error named HttpTokensEnforced's code where the account forbids the options. */
  launch(request: {
    zone: string;
    tags: Record<string, string>;
    metadataOptions: Omit<MetadataOptions, 'state'>;
  }): Instance;
  get(instanceId: string): Instance | undefined;
  addTags(instanceId: string, tags: Record<string, string>): void;
  /** `why` becomes endedBy in the result. */
  terminate(instanceId: string, why: EndedBy): void;
  /** Called with the instance each time its options are in force (`applied`). */
  onApplied(listener: (instance: Instance) => void): void;
  all(): readonly Instance[];
  /** A call of IMDSv1 from the machine: EC2 counts it as answered while tokens are optional, else as rejected. */
  callImdsV1(instanceId: string): void;
}

export type EndedBy = 'drift' | 'emptiness' | 'expiry' | 'interruption' | 'repair' | 'hand';

/** What became of a Build. */
export interface BuildReport {
  name: string;
  /** null where it never got a node. */
  node: string | null;
  outcome: 'finished' | 'evicted' | 'brokenByImds' | 'givenUp' | 'running';
  waitedSeconds: number;
  /** Its node's options were changed live while it ran. */
  changedUnder: boolean;
  /** Why it was evicted or broke, in words. */
  why?: string;
  /** What took it, where that is known: a Build may be lost before its node ends, and to something else. */
  lostTo?: LostTo;
}

/** What took a pod away: a disruption of Karpenter's by method, or something that no rollout sets off. */
export type LostTo = EndedBy | 'notReady';
