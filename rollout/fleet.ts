/** The build nodes as they stand at one look: NodeClaims, nodes, instances and pods joined by their own ids. */
import type { Instance } from './ec2.ts';
import { TransientError } from './errors.ts';
import { podName, waitingBuilds, wouldBeBuild } from './builds.ts';
import { markOn, type CanaryRead } from './canary-mark.ts';
import { holdOn, type Hold } from './hold.ts';
import type { EC2NodeClass, Node, NodeClaim, NodePool, Pod } from './kubernetes.ts';
import { NODECLASS_HASH, NODECLASS_HASH_VERSION, REGISTERED } from './naming.ts';
import type { Clock, Cluster, Instances, Registration } from './ports.ts';
import type { Selector } from './selector.ts';

/**
 * How a NodeClaim's nodeclass hash stands to its class's. `unsettled`: missing, or of another hash version, so that
 * Karpenter does not compare them yet.
 */
export type HashState = 'current' | 'stale' | 'unsettled';

export interface BuildNode {
  /** The node's name; the NodeClaim's before it registered; the instance's where neither is left. */
  name: string;
  claim?: NodeClaim;
  node?: Node;
  instance?: Instance;
  instanceId?: string;
  /** Unfinished pods bound to the node. */
  pods: Pod[];
  /** Those of them that are Builds, as namespace/name. */
  builds: string[];
  hash: HashState;
  drifted: boolean;
  /** Our hold, on the node or on the NodeClaim that is not registered yet. */
  hold?: Hold;
  /** That it is a canary, and what its instance's options were before. */
  canary?: CanaryRead;
  /** Being deleted: no hold of ours is to be changed any more. */
  leaving: boolean;
}

export interface Fleet {
  nodeClass: EC2NodeClass;
  pool: NodePool;
  nodes: BuildNode[];
  waiting: Pod[];
  /** Taken before the pods were listed: what a cordon's age is counted to. */
  podsListedAt: Date;
  /** False where EC2 could not be read: every instance is unknown then, and no protection is lifted. */
  instancesKnown: boolean;
}

/** `i-…` of `aws:///<zone>/<i-…>` (and of the same with another scheme, as Karpenter's KWOK provider writes it). */
export const instanceIdOf = (providerID: string | undefined): string | undefined =>
  /^[a-z-]+:\/\/\/[^/]+\/(i-[0-9A-Za-z]+)$/.exec(providerID ?? '')?.[1];

const condition = (claim: NodeClaim, type: string) =>
  claim.status?.conditions?.find((each) => each.type === type);

export const isDrifted = (claim: NodeClaim): boolean => condition(claim, 'Drifted')?.status === 'True';
export const driftReason = (claim: NodeClaim): string | undefined => condition(claim, 'Drifted')?.reason;

export function hashState(claim: NodeClaim, nodeClass: EC2NodeClass): HashState {
  // Launched before the pool came to refer to this class: nodeClassRef is part of the pool's own hash.
  if (claim.spec.nodeClassRef.name !== nodeClass.metadata.name) return 'stale';
  const [mine, its] = [claim.metadata.annotations ?? {}, nodeClass.metadata.annotations ?? {}];
  if (mine[NODECLASS_HASH] === undefined || its[NODECLASS_HASH] === undefined) return 'unsettled';
  if (mine[NODECLASS_HASH_VERSION] !== its[NODECLASS_HASH_VERSION]) return 'unsettled';
  return mine[NODECLASS_HASH] === its[NODECLASS_HASH] ? 'current' : 'stale';
}

/** NodeClaims of the pool, and those of the class that it refers to. */
const isBuildClaim = (claim: NodeClaim, pool: string, nodeClass: string): boolean =>
  claim.metadata.labels?.['karpenter.sh/nodepool'] === pool ||
  (claim.spec.nodeClassRef.kind === 'EC2NodeClass' && claim.spec.nodeClassRef.name === nodeClass);

/**
 * Reads the whole fleet. Pods are listed after the nodes, so that a guarded patch of a node seen here cannot miss a
 * pod that was bound before. Throws TransientError where the cluster cannot be read; EC2 alone may be missing.
 */
export async function readFleet(
  ports: { clock: Clock; instances: Instances },
  cluster: Cluster,
  registration: Registration,
  { nodeClass, pool }: { nodeClass: EC2NodeClass; pool: NodePool },
  isSelected: Selector,
): Promise<Fleet> {
  const { claims, nodes } = await listNodes({ cluster, nodeClass, pool });
  const podsListedAt = ports.clock.now();
  const pods = await cluster.list('Pod');
  const isBuild = (pod: Pod): boolean => wouldBeBuild(pod, isSelected, podsListedAt);
  const instanceIds = claims
    .map(({ status }) => instanceIdOf(status?.providerID))
    .filter((id) => id !== undefined);
  const instances = await findInstances(ports.instances, {
    cluster: registration.cluster,
    nodeClass: nodeClass.metadata.name,
    instanceIds,
  });
  return {
    nodeClass,
    pool,
    nodes: join({ claims, nodes, pods, instances: instances ?? [] }, nodeClass, isBuild),
    waiting: waitingBuilds(pods.filter(isBuild), pool),
    podsListedAt,
    instancesKnown: instances !== undefined,
  };
}

interface Listed {
  cluster: Cluster;
  nodeClass: EC2NodeClass;
  pool: NodePool;
}

async function listNodes({
  cluster,
  nodeClass,
  pool,
}: Listed): Promise<{ claims: NodeClaim[]; nodes: Node[] }> {
  const claims = (await cluster.list('NodeClaim')).filter((claim) =>
    isBuildClaim(claim, pool.metadata.name, nodeClass.metadata.name),
  );
  return { claims, nodes: await cluster.list('Node') };
}

/** The build nodes without their pods and instances: enough to protect all of them. */
export async function readNodes(listed: Listed): Promise<BuildNode[]> {
  return join({ ...(await listNodes(listed)), pods: [], instances: [] }, listed.nodeClass, () => false);
}

async function findInstances(
  instances: Instances,
  query: Parameters<Instances['find']>[0],
): Promise<Instance[] | undefined> {
  try {
    return await instances.find(query);
  } catch (error) {
    // EC2 alone may be out of reach: the table still protects, and says unknown.
    if (error instanceof TransientError) return undefined;
    throw error;
  }
}

interface Read {
  claims: readonly NodeClaim[];
  nodes: readonly Node[];
  pods: readonly Pod[];
  instances: readonly Instance[];
}

function join(read: Read, nodeClass: EC2NodeClass, isBuild: (pod: Pod) => boolean): BuildNode[] {
  const instances = new Map(read.instances.map((instance) => [instance.instanceId, instance]));
  const nodeByName = new Map(read.nodes.map((node) => [node.metadata.name, node]));
  const nodeByProvider = new Map(read.nodes.map((node) => [node.spec.providerID, node]));
  const podsByNode = Map.groupBy(read.pods, (pod) => pod.spec.nodeName);
  const fromClaims = read.claims.map((claim): BuildNode => {
    const { nodeName, providerID } = claim.status ?? {};
    const node =
      (nodeName === undefined ? undefined : nodeByName.get(nodeName)) ??
      (providerID === undefined ? undefined : nodeByProvider.get(providerID));
    const instanceId = instanceIdOf(providerID);
    const instance = instanceId === undefined ? undefined : instances.get(instanceId);
    const pods = node === undefined ? [] : (podsByNode.get(node.metadata.name) ?? []);
    const hold = holdOfBoth(claim, node);
    const canary = node && markOn(node);
    return {
      name: node?.metadata.name ?? claim.metadata.name,
      claim,
      ...(node && { node }),
      ...(instance && { instance }),
      ...(instanceId !== undefined && { instanceId }),
      pods,
      builds: pods.filter(isBuild).map(podName),
      hash: hashState(claim, nodeClass),
      drifted: isDrifted(claim),
      ...(hold && { hold }),
      ...(canary && { canary }),
      leaving: isLeaving(claim, node, instance),
    };
  });
  const claimed = new Set(fromClaims.map(({ instanceId }) => instanceId));
  const unclaimed = read.instances.filter(({ instanceId }) => !claimed.has(instanceId));
  return [
    ...fromClaims,
    ...unclaimed.map((instance): BuildNode => ({
      name: instance.instanceId,
      instance,
      instanceId: instance.instanceId,
      pods: [],
      builds: [],
      hash: 'unsettled',
      drifted: false,
      leaving: instance.state === 'shutting-down',
    })),
  ];
}

/**
 * The node's hold. Until Karpenter has registered the node (and labelled it so, in the patch that copies the
 * NodeClaim's annotations), it says nothing of its own yet: what the NodeClaim says is still to come.
 */
const holdOfBoth = (claim: NodeClaim, node: Node | undefined): Hold | undefined => {
  const onNode = node && holdOn(node);
  const isRegistered = node?.metadata.labels?.[REGISTERED] === 'true';
  return isRegistered ? onNode : (onNode ?? holdOn(claim));
};

const isLeaving = (claim: NodeClaim, node: Node | undefined, instance: Instance | undefined): boolean =>
  claim.metadata.deletionTimestamp !== undefined ||
  node?.metadata.deletionTimestamp !== undefined ||
  instance?.state === 'shutting-down';
