/** Reads the rack and its cluster as they are at one look, for a scenario that goes on from there. Reads only. */
import { fitsPool, selectorOf, wouldBeBuild } from '../../rollout/builds.ts';
import { decide } from '../../rollout/desired.ts';
import type { AccountMetadataDefaults, Instance } from '../../rollout/ec2.ts';
import { instanceIdOf } from '../../rollout/fleet.ts';
import { readGround, registrationOf, type Ground } from '../../rollout/ground.ts';
import type {
  EC2NodeClass,
  Node,
  NodeClaim,
  NodePool,
  Pod,
  PodDisruptionBudget,
} from '../../rollout/kubernetes.ts';
import { propose, type Proposal } from '../../rollout/plan.ts';
import { executionsOf } from '../../rollout/naming.ts';
import type { Execution, Registration, StoredParameter } from '../../rollout/ports.ts';
import type { RolloutRecord } from '../../rollout/record.ts';
import type { Selector } from '../../rollout/selector.ts';
import type { Look } from '../plan/one-look.ts';

export interface Live {
  rack: string;
  at: Date;
  registration: Registration;
  /** Other racks of the same cluster. */
  others: Registration[];
  stored: StoredParameter[];
  record: RolloutRecord;
  isSelected: Selector;
  pool: NodePool;
  nodeClass: EC2NodeClass;
  /** Those that are looked at: the rack's own alone, or all of the cluster with their classes, by name. */
  pools: NodePool[];
  classes: ReadonlyMap<string, EC2NodeClass>;
  /** Oldest first. */
  claims: NodeClaim[];
  nodes: Node[];
  pods: Pod[];
  /** How long Builds of the pool ran that have ended and are still there, in milliseconds; null where nobody may look. */
  finished: number[] | null;
  /** null where they may not be listed. */
  budgets: PodDisruptionBudget[] | null;
  instances: ReadonlyMap<string, Instance>;
  account: AccountMetadataDefaults | null;
  proposal: Proposal;
  /** The rack's executions that run; null where they may not be listed. */
  running: Execution[] | null;
  /** How many nodes are not looked at. */
  elsewhere: number;
}

export interface NotRead {
  /** What cannot be read, and why: without it nothing can be said of what comes. */
  missing: string;
}

/** `whole`: other pools too. Everything is read through the look, so that what it has read already is not read again. */
export async function readLive(
  look: Look,
  rack: string,
  { whole }: { whole: boolean },
): Promise<Live | NotRead> {
  const { ports } = look;
  const need = <T>(part: string, needs: string, read: () => Promise<T>): Promise<T> =>
    look.attempt(part, needs, read).then((value) => {
      if (value === null) throw new Missing(part);
      return value;
    });
  try {
    const { registration, others } = await need('the registration', 'ssm:GetParametersByPath', () =>
      registrationOf(ports, rack),
    );
    if (registration === undefined) return { missing: `rack ${rack} is not registered` };
    const stored = await need('what is asked', 'ssm:GetParametersByPath', () => ports.parameters.list(rack));
    const record = await need('what the service remembers of the rack', 'ssm:GetParameter', () =>
      ports.records.read(rack),
    );
    const read = await need('the class and the pool', CLUSTER_READS, () =>
      readGround(ports, registration, others),
    );
    if (read.kind === 'gone') return { missing: read.why };
    const around = await readCluster(look, read.ground, registration, whole, need);
    const proposal = await need('what a rollout would do', 'everything that a rollout reads', () =>
      propose(ports, rack),
    );
    const running = await look.attempt('which executions run', 'states:ListExecutions', () =>
      ports.workflow.running(),
    );
    const decision = decide(stored, true);
    const isSelected = selectorOf(decision.kind === 'asks' ? decision.policy : {});
    const { cluster, pool } = read.ground;
    const ended = await look.attempt('how long finished Builds ran', 'list pods in the cluster', () =>
      cluster.finishedPods(),
    );
    return {
      rack,
      at: ports.clock.now(),
      registration,
      others: others.filter(({ cluster }) => cluster === registration.cluster),
      stored,
      record,
      isSelected,
      pool,
      finished: ended?.flatMap((pod) => lengthOf(pod, pool, isSelected)) ?? null,
      nodeClass: read.ground.nodeClass,
      ...around,
      proposal,
      running: running && executionsOf(rack, running),
    };
  } catch (error) {
    if (error instanceof Missing) return { missing: missingText(look, error.part) };
    throw error;
  }
}

/** Of a pod that was a Build and says when it began and ended. */
function lengthOf(pod: Pod, pool: NodePool, isSelected: Selector): number[] {
  const { status, ...running } = pod;
  const began = Date.parse(status?.startTime ?? '');
  const ended = Math.max(
    ...(status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? '')),
  );
  const length = ended - began;
  const was = wouldBeBuild(running, isSelected, new Date(ended)) && fitsPool(pod, pool);
  return was && Number.isFinite(length) && length > 0 ? [length] : [];
}

const CLUSTER_READS =
  'eks:DescribeCluster, and in the cluster list of NodePools, NodeClaims, nodes and pods and get of EC2NodeClasses';

/** Without this part there is no telling. */
class Missing extends Error {
  readonly part: string;

  constructor(part: string) {
    super(part);
    this.part = part;
  }
}

type Need = <T>(part: string, needs: string, read: () => Promise<T>) => Promise<T>;

function missingText({ unknowns }: Look, part: string): string {
  const known = unknowns.find((each) => each.part === part);
  return known === undefined
    ? `${part} cannot be read`
    : `${part} cannot be read: ${known.why} (it takes ${known.needs})`;
}

async function readCluster(
  look: Look,
  { cluster, pool, nodeClass }: Ground,
  registration: Registration,
  whole: boolean,
  need: Need,
): Promise<
  Pick<
    Live,
    'pools' | 'classes' | 'claims' | 'nodes' | 'pods' | 'budgets' | 'instances' | 'account' | 'elsewhere'
  >
> {
  const list = <K extends 'NodePool' | 'NodeClaim' | 'Node' | 'Pod'>(kind: K) =>
    need(`the ${kind}s of the cluster`, CLUSTER_READS, () => cluster.list(kind));
  const allPools = await list('NodePool');
  const allClaims = await list('NodeClaim');
  const [nodes, pods] = [await list('Node'), await list('Pod')];
  const budgets = await look.list(
    'PodDisruptionBudgets: pods are taken to be evictable',
    cluster,
    'PodDisruptionBudget',
  );
  const listed = whole ? await look.list('EC2NodeClasses of other pools', cluster, 'EC2NodeClass') : null;
  const classes = new Map((listed ?? [nodeClass]).map((each) => [each.metadata.name, each]));
  const pools = allPools.filter(({ metadata, spec }) => {
    const { kind, name } = spec.template.spec.nodeClassRef;
    return metadata.name === pool.metadata.name || (whole && (classes.has(name) || kind !== 'EC2NodeClass'));
  });
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  const claims = allClaims
    .filter(({ metadata }) => names.has(metadata.labels?.['karpenter.sh/nodepool'] ?? ''))
    .sort((one, other) => one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp));
  const instanceIds = claims
    .map(({ status }) => instanceIdOf(status?.providerID))
    .filter((id) => id !== undefined);
  const instances = await need("the instances' own options", 'ec2:DescribeInstances', () =>
    look.ports.instances.find({
      cluster: registration.cluster,
      nodeClass: nodeClass.metadata.name,
      instanceIds,
    }),
  );
  const account = await look.attempt('what the account allows', 'ec2:GetInstanceMetadataDefaults', () =>
    look.ports.instances.accountDefaults(),
  );
  return {
    pools,
    classes,
    claims,
    nodes,
    pods,
    budgets,
    instances: new Map(instances.map((instance) => [instance.instanceId, instance])),
    account,
    elsewhere: allClaims.length - claims.length,
  };
}
