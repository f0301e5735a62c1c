/** Builds the world that a scenario describes, in the scenario's order. */
import { NotFoundError } from '../../rollout/errors.ts';
import { leaseName } from '../../rollout/naming.ts';
import type { Clusters, PlanReads } from '../../rollout/ports.ts';
import { createAccount, type Account, type CreateHandler } from '../account/account.ts';
import { createChance } from '../account/chance.ts';
import type { RunningClock } from '../account/clock.ts';
import type { WrittenDefinition } from '../account/definition.ts';
import type { SimulatedEc2 } from '../account/ec2.ts';
import type { ExecutionRecord } from '../account/execution.ts';
import { createGate } from '../account/gate.ts';
import { createPlanReads } from '../account/plan-reads.ts';
import { createSimulatedCluster, type SimulatedCluster } from '../cluster/cluster.ts';
import type { BuildSpec, KarpenterSettings, PoolSpec } from '../cluster/types.ts';
import type { AuditEntry } from '../parts.ts';
import type { Scenario, ScenarioBuild, ScenarioNode, ScenarioPool } from '../scenario/scenario.ts';

/** The product under simulation: its real functions and its real workflow. */
export interface Product {
  /** By folder name below functions/. */
  functions: Record<string, CreateHandler>;
  definition: WrittenDefinition;
  environment: Record<string, string>;
}

/** The cluster, and what only the account remembers of it. */
interface WatchedCluster extends SimulatedCluster {
  /** The node that an instance is, or was; undefined where it never registered. */
  nodeOf(instanceId: string): string | undefined;
}

/** Everything there is, for views and invariants: to look at, not to change. */
export interface World {
  scenario: Scenario;
  clock: RunningClock;
  startedAt: Date;
  account: Account;
  cluster: WatchedCluster;
  /** `rack add` once more: the registration, and the Lease of the class that the pool refers to by now. */
  register(): void;
  /** What a person's plan reads besides. */
  planReads: PlanReads;
  executions: readonly ExecutionRecord[];
  /** Every call so far; `onAudit` tells of each as it happens. */
  audit: readonly AuditEntry[];
  onAudit(listener: (entry: AuditEntry) => void): void;
  calls: ReadonlyMap<string, { calls: number; throttled: number; errors: number }>;
}

export function buildWorld(scenario: Scenario, seed: number, clock: RunningClock, product: Product): World {
  const startedAt = clock.now();
  const chance = createChance(seed);
  const gate = createGate({ clock, chance, faults: scenario.faults });
  const clusterName = `${scenario.rack}-cluster`;
  const clusters: Clusters = {
    connect: (name) =>
      gate.call({ api: 'eks:DescribeCluster', target: name }, () => {
        if (name !== clusterName) throw new NotFoundError(`No cluster found for name: ${name}.`);
        return cluster.port;
      }),
  };
  const account = createAccount({
    clock,
    chance,
    gate,
    ec2: { ...scenario.ec2, httpTokensEnforced: scenario.account.httpTokensEnforced },
    clusters,
    ...product,
  });
  const cluster = createSimulatedCluster({
    name: clusterName,
    clock,
    chance,
    machines: account.ec2.machines,
    gate,
    karpenter: karpenterOf(scenario),
    clockAheadMs: scenario.clocks.cluster,
  });

  for (const [name, nodeClass] of Object.entries(scenario.classes)) cluster.addClass(name, nodeClass);
  for (const [name, pool] of Object.entries(scenario.pools)) cluster.addPool(name, poolOf(pool));
  for (const account of scenario.serviceAccounts) cluster.addServiceAccount(account);
  for (const node of scenario.nodes) addNode(cluster, clock, node);
  for (const [name, { launching }] of Object.entries(scenario.pools)) {
    for (let number = 0; number < launching; number += 1) cluster.launchNode(name);
  }
  // They were set long ago: no event of theirs arrives any more.
  account.eventBus.withFate({ fate: 'lost' }, () => {
    for (const [key, { value, type }] of Object.entries(scenario.parameters)) {
      account.parameterStore.set(scenario.rack, key, value, { type });
    }
  });
  const register = (rack: string, nodePool: string): void => {
    account.records.register({ rack, cluster: clusterName, nodePool });
    const pool = cluster.object('NodePool', nodePool);
    if (pool !== undefined) cluster.addLease(leaseName(pool.spec.template.spec.nodeClassRef.name));
  };
  if (scenario.record !== undefined)
    account.records.overwrite(scenario.rack, JSON.stringify(scenario.record));
  if (scenario.registered) register(scenario.rack, 'build');
  for (const [rack, { pool }] of Object.entries(scenario.racks)) register(rack, pool);
  account.ec2.begin();
  countBefore(scenario, account, cluster, startedAt);
  const note = (who: string, what: string, target: string, body?: unknown): void => {
    gate.note({ caller: { function: who }, api: `kubernetes:${what}`, write: true, target, body });
  };

  return {
    scenario,
    clock,
    startedAt,
    account,
    cluster: {
      ...cluster,
      nodeOf: (id) => nodeOf(account.ec2, id),
      // A neighbour's write is told from ours by the audit.
      editClass: (target, manager, fields) => {
        cluster.editClass(target, manager, fields);
        note(manager, 'patch EC2NodeClass', target, { spec: { metadataOptions: fields } });
      },
      removeClass: (target) => {
        cluster.removeClass(target);
        note('person', 'delete EC2NodeClass', target);
      },
      makeClass: (target, spec) => {
        cluster.makeClass(target, spec);
        note('person', 'create EC2NodeClass', target);
      },
      removePool: (target) => {
        cluster.removePool(target);
        note('person', 'delete NodePool', target);
      },
      editPool: (target, nodeClass) => {
        cluster.editPool(target, nodeClass);
        note('person', 'patch NodePool', target);
      },
    },
    register: () => {
      register(scenario.rack, 'build');
    },
    planReads: createPlanReads(gate, scenario, {
      cluster: clusterName,
      metrics: account.metrics.port,
    }),
    executions: account.stepFunctions.executions,
    audit: gate.audit,
    onAudit: (listener) => {
      gate.onAudit(listener);
    },
    calls: gate.calls,
  };
}

/** What CloudWatch had counted before the run, on the day before: EC2 counts the one metric or the other. */
function countBefore(
  { nodes }: Scenario,
  { metrics }: Account,
  cluster: SimulatedCluster,
  startedAt: Date,
): void {
  const at = new Date(startedAt.getTime() - 12 * 60 * 60_000);
  for (const { name, metadataNoToken: count, httpTokens } of nodes) {
    const instanceId = instanceOf(cluster, name);
    if (count === null || instanceId === undefined) continue;
    const metric = httpTokens === 'optional' ? 'MetadataNoToken' : 'MetadataNoTokenRejected';
    metrics.count({ metric, instanceId, at, count });
  }
}

/** By the node's own provider id: `aws:///<zone>/<instance id>`. */
const instanceOf = (cluster: SimulatedCluster, node: string): string | undefined =>
  cluster.object('Node', node)?.spec.providerID?.split('/').at(-1);

/** Karpenter tags an instance with the name of its node once that has registered; tags outlive the objects. */
function nodeOf(ec2: SimulatedEc2, id: string): string | undefined {
  const tags = ec2.historyOf(id)?.instance.tags;
  return tags?.['karpenter.sh/nodeclaim'] === undefined ? undefined : tags['Name'];
}

function karpenterOf({ karpenter }: Scenario): KarpenterSettings {
  const { capacity } = karpenter;
  return {
    launchMs: karpenter.launch,
    registerMs: karpenter.register,
    initializeMs: karpenter.initialize,
    capacity: capacity.kind === 'after' ? { afterMs: capacity.at } : capacity.kind,
    classReady: karpenter.classReady ?? 'never',
    nodeRepair: karpenter.nodeRepair,
    launchedCpu: karpenter.cpu,
  };
}

function poolOf(pool: ScenarioPool): PoolSpec {
  return {
    class: pool.class,
    classKind: pool.classKind,
    limits: {
      ...(pool.limits.cpu !== null && { cpu: pool.limits.cpu }),
      ...(pool.limits.nodes !== null && { nodes: pool.limits.nodes }),
    },
    budgets: pool.budgets,
    consolidateAfterMs: pool.consolidateAfter,
    expireAfterMs: pool.expireAfter,
    terminationGracePeriodMs: pool.terminationGracePeriod,
    replicas: pool.replicas,
  };
}

function addNode(cluster: SimulatedCluster, clock: RunningClock, node: ScenarioNode): void {
  const { builds, pods, metadataNoToken: _, age, hold, ...spec } = node;
  cluster.addNode({ ...spec, ageMs: age, hold: hold && JSON.stringify(hold) });
  for (const pod of pods) cluster.addPod({ ...pod, node: node.name });
  for (const build of builds) {
    const bound = { ...buildOf(build), node: node.name };
    if (build.startsAt <= 0) cluster.addBuild({ ...bound, startedAgoMs: -build.startsAt });
    else {
      clock.after(build.startsAt, () => {
        cluster.addBuild(bound);
      });
    }
  }
}

export function buildOf(build: ScenarioBuild): BuildSpec {
  return {
    name: build.name,
    namespace: build.namespace,
    runsForMs: build.runsFor,
    cpu: build.cpu,
    usesImds: build.usesImds,
    ...(build.usesImdsAt === null ? {} : { usesImdsAtMs: build.usesImdsAt }),
    labels: build.labels,
  };
}
