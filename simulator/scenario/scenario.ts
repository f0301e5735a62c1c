/**
 * A scenario as the simulator plays it: checked, every default filled in, nodes repeated and named. All durations and
 * moments are milliseconds; moments count from the start (`startsAt`).
 */
import type { HttpTokens } from '../../rollout/ec2.ts';
import type { Hold } from '../../rollout/hold.ts';
import type { RolloutRecord } from '../../rollout/record.ts';
import type { CommandName, FunctionName } from './names.ts';

export interface ScenarioParameter {
  value: string;
  type: 'String' | 'StringList' | 'SecureString';
}

export interface ScenarioClass {
  httpTokens: HttpTokens;
  httpPutResponseHopLimit: number;
  httpEndpoint: 'enabled' | 'disabled';
  /** Field managers at the start; empty: nobody manages the options. */
  owners: { manager: string; fields: string[]; operation: 'Apply' | 'Update' }[];
  /** By chance where absent; a record is about the class of one UID. */
  uid?: string;
}

export interface ScenarioPool {
  class: string;
  /** EC2NodeClass, but for a pool that is not Karpenter's own on EC2. */
  classKind: string;
  /** null: no limit. */
  limits: { cpu: number | null; nodes: number | null };
  /** Karpenter's own form: a count or a percentage. Without reasons, for all. */
  budgets: {
    nodes: string;
    reasons?: ('Drifted' | 'Empty' | 'Underutilized')[];
    /** A cron expression, and for how long from each of its moments: absent, always. */
    schedule?: string;
    duration?: string;
  }[];
  /** null: Never. */
  consolidateAfter: number | null;
  expireAfter: number | null;
  terminationGracePeriod: number | null;
  /** A static pool keeps so many nodes; null: by demand. */
  replicas: number | null;
  /** NodeClaims that are on their way at the start. */
  launching: number;
}

export interface ScenarioBuild {
  name: string;
  namespace: string;
  runsFor: number;
  cpu: number;
  usesImds: 'none' | 'v1' | 'v2-pod' | 'v2-nested';
  /** When it uses IMDS, counted from its own start; null where the scenario does not say. */
  usesImdsAt: number | null;
  labels: Record<string, string>;
}

/** A Build that is on its node already (negative) or arrives bound to it at that moment. */
interface ScenarioNodeBuild extends ScenarioBuild {
  startsAt: number;
}

interface ScenarioPod {
  name: string;
  namespace: string;
  /** The kind that owns it; null: nobody. */
  ownedBy: string | null;
  /** The name of what owns it; absent: the pod's own without its last part. */
  owner?: string;
  /** Of its owner; absent: as many as there are pods of it. */
  replicas?: number;
  image?: string;
  serviceAccount: string;
  privileged: boolean;
  cpu: number;
  hostNetwork: boolean;
  /** The PodDisruptionBudget that covers it. */
  pdb: string | null;
  evictable: boolean;
  /** The pod's own annotation, which Karpenter respects as a node's. */
  doNotDisrupt: boolean;
  labels: Record<string, string>;
}

/** One node, oldest first in the scenario. */
export interface ScenarioNode {
  name: string;
  pool: string;
  cpu: number;
  /** The class's at the start where the scenario does not say. */
  httpTokens: HttpTokens;
  httpPutResponseHopLimit: number;
  httpEndpoint: 'enabled' | 'disabled';
  builds: ScenarioNodeBuild[];
  pods: ScenarioPod[];
  /** What CloudWatch counted of IMDSv1; null: not measured. */
  metadataNoToken: number | null;
  doNotDisrupt: boolean;
  ready: boolean;
  /** Milliseconds since its NodeClaim was created; null: by its place, the oldest a day. */
  age: number | null;
  cordoned: boolean;
  /** The service's own, on the node. */
  hold: Hold | null;
  /** Its NodeClaim is of an older class: whatever happens, Karpenter replaces it. */
  drifted: boolean;
}

/** A service account with credentials of its own. */
interface ScenarioServiceAccount {
  name: string;
  namespace: string;
  /** Of IRSA. */
  role?: string;
  podIdentity: boolean;
}

/** What a person types; of approve and reject also who, what about and why. */
export interface ScenarioCommand {
  kind: 'command';
  command: CommandName;
  /** null: somebody who cannot prove who they are. */
  by: string | null;
  /** `awaited`: what was asked last; `first`: what was asked first of all. */
  hash: string;
  reason: string;
}

/** What a timeline entry does. */
export type ScenarioAction =
  | { kind: 'set'; parameters: Record<string, ScenarioParameter> }
  | { kind: 'unset'; keys: string[] }
  | { kind: 'build'; build: ScenarioBuild }
  | {
      kind: 'editClass';
      class: string;
      manager: string;
      options: {
        httpTokens?: HttpTokens;
        httpPutResponseHopLimit?: number;
        httpEndpoint?: 'enabled' | 'disabled';
      };
    }
  | {
      kind: 'modifyInstance';
      node: string;
      options: {
        httpTokens?: HttpTokens;
        httpPutResponseHopLimit?: number;
        httpEndpoint?: 'enabled' | 'disabled';
      };
    }
  /** What happens to the events of the next set or unset; `by` only where late. */
  | { kind: 'event'; fate: 'lost' | 'doubled' }
  | { kind: 'event'; fate: 'late'; by: number }
  | ScenarioCommand
  | { kind: 'stopExecution' }
  | { kind: 'crash'; function: FunctionName; when: 'before' | 'after' }
  | { kind: 'stopKarpenter'; for: number }
  | { kind: 'upgradeHashVersion' }
  | { kind: 'removeNode'; node: string }
  | { kind: 'nodeNotReady'; node: string }
  | { kind: 'interrupt'; node: string }
  | { kind: 'removeClass'; class: string }
  | { kind: 'makeClass'; class: string; spec: ScenarioClass }
  | { kind: 'removePool'; pool: string }
  | { kind: 'editPool'; pool: string; class: string }
  | { kind: 'register' };

interface ScenarioEntry {
  at: number;
  action: ScenarioAction;
}

interface ScenarioFault {
  /** An API, or a whole service (`kubernetes:*`): see faultHits in names.ts. */
  api: string;
  error: string | null;
  latency: number;
  from: number;
  /** The first moment after it; null: to the end. */
  until: number | null;
  share: number;
}

export interface Scenario {
  name: string;
  rack: string;
  registered: boolean;
  /** Other racks registered for the same cluster. */
  racks: Record<string, { pool: string }>;
  seed: number;
  /** ISO 8601, UTC. */
  startsAt: string;
  runFor: number;
  parameters: Record<string, ScenarioParameter>;
  /** What the service remembers of the rack; absent where it was never rolled out. */
  record?: RolloutRecord;
  classes: Record<string, ScenarioClass>;
  pools: Record<string, ScenarioPool>;
  nodes: ScenarioNode[];
  serviceAccounts: ScenarioServiceAccount[];
  /** Sorted by `at`; entries of the same moment in the order written. */
  timeline: ScenarioEntry[];
  faults: ScenarioFault[];
  karpenter: {
    launch: number;
    /** Of the nodes that it launches. */
    cpu: number;
    register: number;
    initialize: number;
    capacity: { kind: 'ok' } | { kind: 'none' } | { kind: 'after'; at: number };
    /** null: never, Ready=False at the new generation. */
    classReady: number | null;
    nodeRepair: boolean;
  };
  ec2: {
    modifyBucket: { capacity: number; refillPerSecond: number; strangers: number };
    applyDelay: number;
    readStaleness: number;
    /** What CloudWatch has of an instance that rejected no call; `none`: it has nothing of anything. */
    metrics: 'sparse' | 'zeros' | 'none';
  };
  /** How far the API server's clock is ahead of everybody else's. */
  clocks: { cluster: number };
  account: { httpTokensEnforced: boolean };
  /** A subset of the result; absent where nothing is expected. */
  expect?: Record<string, unknown>;
}
