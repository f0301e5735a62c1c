/** A world made by hand: one build node and one workload node, to be changed by each test. */
import type { Instance } from '../../../rollout/ec2.ts';
import type {
  EC2NodeClass,
  Node,
  NodeClaim,
  NodePool,
  ObjectsByKind,
  Pod,
} from '../../../rollout/kubernetes.ts';
import type { StoredParameter } from '../../../rollout/ports.ts';
import type { RolloutRecord } from '../../../rollout/record.ts';
import { createInvariants, type Invariants } from '../../../simulator/invariants/invariants.ts';
import type { ObservedExecution, Truth, Violation } from '../../../simulator/invariants/truth.ts';
import type { AuditEntry, BuildReport, EndedBy } from '../../../simulator/parts.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';

const start = Date.parse('2026-03-02T09:00:00Z');

type Mutable = { [K in keyof ObjectsByKind]: ObjectsByKind[K][] };

export class HandMade implements Truth {
  readonly scenario = loadScenario('name: by hand\nrunFor: 1d', 'by-hand.yaml');
  readonly audit: AuditEntry[] = [];
  time = start;
  values: Record<string, string | StoredParameter> = {
    karpenter_enabled: 'true',
    build_node_enabled: 'true',
  };
  theRecord: RolloutRecord | undefined;
  machines: Instance[] = [instance('i-build', 'build'), instance('i-work', 'workload')];
  kinds: Mutable = {
    EC2NodeClass: [nodeClass('build'), nodeClass('workload')],
    NodePool: [nodePool('build'), nodePool('workload')],
    NodeClaim: [claim('c-build', 'build', 'i-build'), claim('c-work', 'workload', 'i-work')],
    Node: [node('n-build', 'build', 'i-build'), node('n-work', 'workload', 'i-work')],
    Pod: [],
    PodDisruptionBudget: [],
    Lease: [],
    Event: [],
    DaemonSet: [],
    ReplicaSet: [],
    StatefulSet: [],
    ServiceAccount: [],
  };
  runs: ObservedExecution[] = [];
  buildReports: BuildReport[] = [];
  ends: Record<string, EndedBy> = {};
  readonly found: Violation[] = [];
  #invariants: Invariants | undefined;

  now = (): Date => new Date(this.time);
  record = (): RolloutRecord | undefined => this.theRecord;
  instances = (): Instance[] => this.machines;
  executions = (): ObservedExecution[] => this.runs;
  builds = (): BuildReport[] => this.buildReports;
  endOf = (name: string): EndedBy | undefined => this.ends[name];
  objects = <K extends keyof ObjectsByKind>(kind: K): ObjectsByKind[K][] => this.kinds[kind];
  parameters = (): StoredParameter[] =>
    Object.entries(this.values).map(([key, value]) =>
      typeof value === 'string'
        ? { key, value, type: 'String', version: 1, lastModifiedDate: this.now().toISOString() }
        : value,
    );

  /** Begins to watch; what is set before counts as having been so at the start. */
  begin(): this {
    this.#invariants = createInvariants(this);
    return this;
  }

  /** Lets time pass, and looks. */
  pass(minutes: number): this {
    this.time += minutes * 60_000;
    return this.look();
  }

  look(): this {
    this.found.push(...(this.#invariants?.check() ?? []));
    return this;
  }

  /** A call of the service. `effect` is what it does to the world. */
  call(caller: string, api: string, target: string, body?: unknown, effect?: () => void): this {
    const [name = '', execution] = caller.split(' of ');
    effect?.();
    this.audit.push({
      at: this.now(),
      caller: { function: name, ...(execution === undefined ? {} : { execution }) },
      api,
      write: true,
      target,
      body,
    });
    return this.look();
  }

  /** Parameters as a person writes them; undefined deletes. */
  set(values: Record<string, string | undefined>): this {
    for (const [key, value] of Object.entries(values)) {
      this.values = Object.fromEntries(Object.entries(this.values).filter(([other]) => other !== key));
      if (value !== undefined) this.values[key] = value;
      this.audit.push({
        at: this.now(),
        caller: { function: 'person' },
        api: value === undefined ? 'ssm:DeleteParameter' : 'ssm:PutParameter',
        write: true,
        target: `/racks/demo/${key}`,
      });
    }
    return this.look();
  }

  /** The service patches the build class. */
  patchClass(caller: string, options: Record<string, unknown>): this {
    return this.call(
      caller,
      'kubernetes:patch EC2NodeClass',
      'build',
      { spec: { metadataOptions: options } },
      () => {
        Object.assign(this.buildClass.spec.metadataOptions ?? {}, options);
      },
    );
  }

  /** The service modifies the build instance. */
  modify(caller: string, options: Partial<NonNullable<Instance['metadataOptions']>>, id = 'i-build'): this {
    const found = this.machines.find((machine) => machine.instanceId === id);
    const before = found?.metadataOptions;
    const { state: _, ...request } = { ...applied, ...before, ...options };
    return this.call(caller, 'ec2:ModifyInstanceMetadataOptions', id, request, () => {
      if (found && before) found.metadataOptions = { ...before, ...options };
    });
  }

  started(name: string): this {
    this.runs.push({ name, startedAt: this.now().toISOString(), endedAt: null, outcome: null, reason: null });
    return this.look();
  }

  ended(name: string, outcome: ObservedExecution['outcome'], reason: string | null = 'because'): this {
    this.runs = this.runs.map((run) =>
      run.name === name ? { ...run, endedAt: this.now().toISOString(), outcome, reason } : run,
    );
    return this.look();
  }

  get buildClass(): EC2NodeClass {
    const found = this.kinds.EC2NodeClass[0];
    if (!found) throw new Error('the build class is gone');
    return found;
  }

  get buildNode(): Node {
    const found = this.kinds.Node[0];
    if (!found) throw new Error('the build node is gone');
    return found;
  }

  hold(how: { cordon?: boolean; protect?: boolean }): this {
    this.buildNode.metadata.annotations = {
      'imds-rollout/hold': '{}',
      ...(how.protect ? { 'karpenter.sh/do-not-disrupt': 'true' } : {}),
    };
    if (how.cordon) this.buildNode.spec.unschedulable = true;
    return this;
  }

  runBuild(name: string): this {
    this.kinds.Pod.push(pod(name, 'n-build'));
    return this;
  }

  /** Every violation, the end's included: the invariant's number and what. */
  end(): string[] {
    this.found.push(...(this.#invariants?.atEnd() ?? []));
    return this.found.map(({ invariant, what }) => `${invariant.slice(0, 1)} ${what}`);
  }
}

const applied = {
  state: 'applied',
  httpTokens: 'optional',
  httpPutResponseHopLimit: 3,
  httpEndpoint: 'enabled',
} as const;

const meta = (name: string, labels: Record<string, string> = {}) => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: new Date(start).toISOString(),
  labels,
});
const labelsOf = (pool: string) => ({
  'karpenter.sh/nodepool': pool,
  'karpenter.k8s.aws/ec2nodeclass': pool,
});
const providerOf = (id: string): string => `aws:///eu-west-1a/${id}`;

export function instance(instanceId: string, pool: string): Instance {
  return {
    instanceId,
    state: 'running',
    launchTime: new Date(start - 3_600_000).toISOString(),
    metadataOptions: { ...applied },
    tags: labelsOf(pool),
  };
}

function nodeClass(name: string): EC2NodeClass {
  return {
    kind: 'EC2NodeClass',
    metadata: meta(name),
    spec: { metadataOptions: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } },
    status: { conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }] },
  };
}

function nodePool(name: string): NodePool {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name };
  return { kind: 'NodePool', metadata: meta(name), spec: { template: { spec: { nodeClassRef } } } };
}

function claim(name: string, pool: string, id: string): NodeClaim {
  return {
    kind: 'NodeClaim',
    metadata: meta(name, labelsOf(pool)),
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: pool } },
    status: { providerID: providerOf(id), conditions: [] },
  };
}

function node(name: string, pool: string, id: string): Node {
  return { kind: 'Node', metadata: meta(name, labelsOf(pool)), spec: { providerID: providerOf(id) } };
}

function pod(name: string, nodeName: string): Pod {
  return { kind: 'Pod', metadata: meta(name), spec: { nodeName }, status: { phase: 'Running' } };
}
