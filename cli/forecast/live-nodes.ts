/** The nodes of a cluster as a scenario has them, oldest first, with what runs on them. */
import { hashState, instanceIdOf, isDrifted, driftReason } from '../../rollout/fleet.ts';
import { fitsPool } from '../../rollout/builds.ts';
import { markOn } from '../../rollout/canary-mark.ts';
import { holdOn, isCordoned, isProtected } from '../../rollout/hold.ts';
import type { Node, NodeClaim } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import { cpuOf } from '../../simulator/cluster/names.ts';
import type { PodReader } from './live-pods.ts';
import type { Live } from './live.ts';
import { durationText, type Notes, type WrittenEntry, type WrittenNode } from './written.ts';

export interface LiveNodes {
  nodes: WrittenNode[];
  /** NodeClaims on their way, by pool. */
  launching: ReadonlyMap<string, number>;
  /** What happens at once: nodes that leave, Builds that wait. */
  entries: WrittenEntry[];
}

export function nodesOf(live: Live, read: PodReader, notes: Notes): LiveNodes {
  const byName = new Map(live.nodes.map((node) => [node.metadata.name, node]));
  const byProvider = new Map(live.nodes.map((node) => [node.spec.providerID, node]));
  const podsByNode = Map.groupBy(live.pods, ({ spec }) => spec.nodeName);
  const launching = new Map<string, number>();
  const nodes: WrittenNode[] = [];
  const entries: WrittenEntry[] = [];
  for (const claim of live.claims) {
    const node = byName.get(claim.status?.nodeName ?? '') ?? byProvider.get(claim.status?.providerID ?? '-');
    const leaves =
      claim.metadata.deletionTimestamp !== undefined || node?.metadata.deletionTimestamp !== undefined;
    const pool = claim.metadata.labels?.['karpenter.sh/nodepool'] ?? '';
    if (node === undefined) {
      if (leaves) notes.add(`NodeClaim ${claim.metadata.name}: it is being deleted, and is left out`);
      else launching.set(pool, (launching.get(pool) ?? 0) + 1);
      continue;
    }
    if (leaves) {
      notes.add(`${node.metadata.name} leaves: here somebody deletes it at the start`);
      entries.push({ at: '0s', removeNode: node.metadata.name });
    }
    nodes.push(
      nodeOf({ live, claim, node, pods: podsByNode.get(node.metadata.name) ?? [], pool, read, notes }),
    );
  }
  if (launching.size > 0) notes.add('how far NodeClaims on their way have come: they begin anew');
  return { nodes, launching, entries: [...entries, ...waiting(live, read, notes)] };
}

/** Builds that no node has taken yet come at once. */
function waiting(live: Live, read: PodReader, notes: Notes): WrittenEntry[] {
  const unbound = live.pods.filter(
    ({ spec, metadata }) => spec.nodeName === undefined && metadata.deletionTimestamp === undefined,
  );
  const builds = unbound.filter((pod) => read.isBuild(pod) && fitsPool(pod, live.pool));
  if (builds.length > 0) notes.add('how long Builds have waited for a node already: they come at the start');
  if (unbound.length > builds.length)
    notes.add(`${String(unbound.length - builds.length)} pods without a node that are no Builds of the pool`);
  return builds.map((pod) => ({ at: '0s', build: read.waiting(pod) }));
}

/** Of a node that does not say how large it is. */
const SMALLEST_CPU = 1;

interface One {
  live: Live;
  claim: NodeClaim;
  node: Node;
  pods: Live['pods'];
  pool: string;
  read: PodReader;
  notes: Notes;
}

function nodeOf({ live, claim, node, pods, pool, read, notes }: One): WrittenNode {
  const { name, annotations } = node.metadata;
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (staying.length < pods.length) notes.add(`pods of ${name} that are being deleted: they are left out`);
  const cpu =
    Math.round(cpuOf(node.status?.allocatable?.['cpu'] ?? claim.status?.capacity?.['cpu']) * 1_000) / 1_000;
  if (cpu === 0) notes.add(`${name} does not say how many cpus it has: it has room for what runs on it`);
  const hold = holdOn(node);
  if (markOn(node) !== undefined)
    notes.add(
      `${name} is a canary: here it is none, has its options of now from the start, and is never put back`,
    );
  if (annotations?.[DO_NOT_DISRUPT] !== undefined && !isProtected(node))
    notes.add(
      `${name}: karpenter.sh/do-not-disrupt=${annotations[DO_NOT_DISRUPT]}, of which only "true" can be said`,
    );
  const others = staying.filter((pod) => !read.isBuild(pod)).map(read.pod);
  const builds = staying.filter(read.isBuild).map(read.build);
  const asked = [...others, ...builds].reduce((sum, pod) => sum + (pod.cpu ?? 0), 0);
  return {
    name,
    pool,
    cpu: Math.max(cpu, Math.ceil(asked * 1_000) / 1_000, SMALLEST_CPU),
    ...optionsOf(live, claim, notes),
    ...(builds.length > 0 && { builds }),
    ...(others.length > 0 && { pods: others }),
    ...(isProtected(node) && { doNotDisrupt: true }),
    ...(node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') !==
      true && {
      ready: false,
    }),
    age: durationText(Math.max(0, live.at.getTime() - new Date(claim.metadata.creationTimestamp).getTime())),
    ...(isCordoned(node) && { cordoned: true }),
    ...(hold && { hold }),
    ...(hasDrifted(live, claim, notes) && { drifted: true }),
  };
}

function optionsOf(
  live: Live,
  claim: NodeClaim,
  notes: Notes,
): Pick<WrittenNode, 'httpTokens' | 'hopLimit' | 'httpEndpoint'> {
  const { name } = claim.metadata;
  const options = live.instances.get(instanceIdOf(claim.status?.providerID) ?? '')?.metadataOptions;
  if (options === undefined) {
    notes.add(`the instance of ${name}: EC2 does not say its options, so it has the class's`);
    return {};
  }
  if (options.state === 'pending')
    notes.add(`the options of ${name} are being changed: they count as changed`);
  return {
    httpTokens: options.httpTokens,
    hopLimit: options.httpPutResponseHopLimit,
    ...(options.httpEndpoint === 'disabled' && { httpEndpoint: 'disabled' as const }),
  };
}

function hasDrifted(live: Live, claim: NodeClaim, notes: Notes): boolean {
  const { name } = claim.metadata;
  const nodeClass = live.classes.get(claim.spec.nodeClassRef.name);
  const state = nodeClass && hashState(claim, nodeClass);
  if (state === 'unsettled') notes.add(`the hash of NodeClaim ${name} is not compared by Karpenter now`);
  const reason = driftReason(claim);
  if (isDrifted(claim) && reason !== undefined && reason !== 'NodeClassDrift')
    notes.add(`${name} has drifted for ${reason}: here for its class`);
  return isDrifted(claim) || state === 'stale';
}
