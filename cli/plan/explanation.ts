/** A plan that explains itself: what `plan --json` prints, and what the other forms are made of. */
import type { HttpTokens } from '../../rollout/ec2.ts';
import type { Headroom } from '../../rollout/headroom.ts';
import type { Plan } from '../../rollout/journal.ts';
import type { Option } from '../../rollout/options.ts';
import type { NodeOutlook } from '../../rollout/outlook.ts';
import type { Key } from '../../rollout/parameters.ts';
import type { ReachOptions, ReachRow } from '../../rollout/reach.ts';
import type { Outcome } from '../../rollout/record.ts';
import type { SingleReplica, Workload } from '../../rollout/workloads.ts';
import type { Unknown } from './one-look.ts';

/** One option: what asks for it, and what it becomes. */
export interface AskedOption {
  option: Option;
  before: HttpTokens | number;
  after: HttpTokens | number;
  /** What the values mean, in a sentence. */
  meaning: string;
  /** Absent where no parameter asks any more: the option goes back to what the class said before. */
  parameter?: {
    key: Key;
    value: string;
    version: number;
    at: string;
    /** null where it may not be read, or where Parameter Store does not say. */
    by: string | null;
    /** The version before; null where it is the first, absent where it could not be read. */
    previous?: string | null;
  };
}

/** One table: for the nodes that have these options now. */
export interface ReachTable {
  /** None: the class, and so the nodes that are still to come. */
  nodes: string[];
  before: ReachOptions;
  after: ReachOptions;
  rows: ReachRow[];
}

/** What CloudWatch counted on one instance; `count` null: nothing was measured, which is no zero. */
export interface ImdsUse {
  node: string;
  instanceId: string;
  metric: 'MetadataNoToken' | 'MetadataNoTokenRejected';
  count: number | null;
}

export interface Risk {
  kind: 'loosens' | 'breaks' | 'interrupts' | 'reverts' | 'forbidden' | 'unknown';
  text: string;
}

/** A part is null where it could not be read (`unknowns` says why) or where there is nothing to explain. */
export interface Explanation {
  rack: string;
  cluster: string | null;
  at: string;
  /** null: a rollout would run. `Unknown`: what it takes to say so could not be read. */
  outcome: Outcome | 'Unknown' | null;
  reason: string | null;
  generation: string | null;
  plan: Plan | null;
  asked: AskedOption[] | null;
  reach: ReachTable[] | null;
  /** Agents on build nodes behind which pods are one hop further, by name. */
  routesOnceMore: string[];
  workloads: Workload[] | null;
  evidence: { days: number; uses: ImdsUse[] } | null;
  nodes: NodeOutlook[] | null;
  singleReplicas: SingleReplica[] | null;
  headroom: Headroom | null;
  policy: {
    classWriter: 'service' | 'external';
    strategy: string;
    deadline: number;
    stragglers: string;
    drainTimeout: number;
  } | null;
  account: { httpTokensEnforced: boolean; managedBy: string | null } | null;
  /** What the policy asks: `why` null where the change needs nobody's approval, else what an approval has to name. */
  approval: { policy: string; why: string | null; hash: string | null; command: string | null } | null;
  risks: Risk[];
  /** A command and what it comes to; none where nothing changes, null where it is not known. */
  wayBack: string[] | null;
  unknowns: readonly Unknown[];
}
