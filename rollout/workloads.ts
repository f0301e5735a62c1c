/** What runs on build nodes, by the name that people know, and what a change of the options means to it. Pure. */
import { agentOf, type Agent } from './agents.ts';
import { fitsPool, podName } from './builds.ts';
import { credentialsOf, type Credentials, type Identities } from './credentials.ts';
import type { BuildNode } from './fleet.ts';
import type {
  DaemonSet,
  NodePool,
  OwnerReference,
  Pod,
  PodSpec,
  ReplicaSet,
  StatefulSet,
} from './kubernetes.ts';
import {
  changeOf,
  versionsFor,
  type Caller,
  type ReachChange,
  type ReachOptions,
  type Version,
} from './reach.ts';

export interface Workload {
  /** `DaemonSet`, `Deployment`, …; `Build`, or `Pod` where nobody owns it. */
  kind: string;
  /** namespace/name. */
  name: string;
  /** The build nodes that it runs on; none for a DaemonSet whose pods are still to come. */
  nodes: string[];
  caller: Caller;
  credentials: Credentials;
  agent: Agent | null;
  /** It may run containers of its own, one hop further: privileged, or known for it. */
  mayNest: boolean;
  /** The versions by which it reaches IMDS; null where its nodes' options are not known. */
  before: Version[] | null;
  after: Version[];
  change: ReachChange | 'unknown';
}

/** What a cluster says of who runs what; null where it could not be read. */
interface Controllers extends Identities {
  daemonSets: readonly DaemonSet[] | null;
  replicaSets: readonly ReplicaSet[] | null;
}

export interface WorkloadsInput {
  nodes: readonly BuildNode[];
  pool: NodePool;
  controllers: Controllers;
  /** What a node or its successor has afterwards. */
  after: (node: BuildNode) => ReachOptions;
  /** What the class says now and afterwards: where DaemonSets come to run that have no pod yet. */
  nodeClass: { now: ReachOptions; then: ReachOptions };
}

interface Seen {
  kind: string;
  name: string;
  pod: Pick<Pod, 'metadata' | 'spec'>;
  node?: string;
  now: ReachOptions | undefined;
  then: ReachOptions;
}

const ORDER: readonly Workload['change'][] = [
  'loses',
  'gains',
  'unknown',
  'swaps',
  'narrows',
  'widens',
  'keeps',
  'has none',
];

/** Every workload of the build nodes, those that the change concerns most first. One that differs by node comes twice. */
export function workloadsOf(input: WorkloadsInput): Workload[] {
  const { nodes, pool, controllers, nodeClass, after } = input;
  const running = nodes.flatMap((node) =>
    node.pods.map((pod): Seen => {
      const isBuild = node.builds.includes(podName(pod));
      const named = isBuild ? { kind: 'Build', name: podName(pod) } : ownerOf(pod, controllers.replicaSets);
      return { ...named, pod, node: node.name, now: node.instance?.metadataOptions, then: after(node) };
    }),
  );
  const present = new Set(running.map(({ kind, name }) => `${kind} ${name}`));
  const coming = (controllers.daemonSets ?? [])
    .map((set): Seen => ({ kind: 'DaemonSet', name: podName(set), pod: templateOf(set), ...nodeClass }))
    .filter(({ kind, name, pod }) => !present.has(`${kind} ${name}`) && fits(pod, pool));
  const groups = Map.groupBy([...running, ...coming], (seen) => keyOf(seen));
  return [...groups.values()]
    .flatMap(([first, ...more]) => (first === undefined ? [] : [workload([first, ...more], controllers)]))
    .sort((a, b) => ORDER.indexOf(a.change) - ORDER.indexOf(b.change) || a.name.localeCompare(b.name));
}

const templateOf = ({ metadata, spec }: DaemonSet): Pick<Pod, 'metadata' | 'spec'> => ({
  metadata,
  spec: spec.template.spec,
});

const fits = (pod: Pick<Pod, 'metadata' | 'spec'>, pool: NodePool): boolean =>
  fitsPool({ kind: 'Pod', ...pod }, pool);

/** What counts of the options, so that a workload is told once for all nodes that are alike. */
const keyOf = ({ kind, name, now, then }: Seen): string =>
  JSON.stringify([kind, name, ...[now, then].map((options) => options && optionsKey(options))]);

/** Of options that are alike to whoever wants to reach IMDS. */
export const optionsKey = (options: ReachOptions): string =>
  JSON.stringify([options.httpTokens, options.httpPutResponseHopLimit, options.httpEndpoint ?? 'enabled']);

function workload(seen: readonly [Seen, ...Seen[]], controllers: Controllers): Workload {
  const [{ kind, name, pod, now, then }] = seen;
  const caller: Caller = pod.spec.hostNetwork === true ? 'hostNetwork pod' : 'pod';
  const images = imagesOf(pod.spec);
  const agent = agentOf({ name: name.slice(name.indexOf('/') + 1), images });
  const before = now === undefined ? null : versionsFor(caller, now);
  const after = versionsFor(caller, then);
  return {
    kind,
    name,
    nodes: seen.flatMap(({ node }) => node ?? []).sort(),
    caller,
    credentials: credentialsOf(pod, controllers),
    agent: agent ?? null,
    mayNest:
      agent?.runsContainers === true ||
      (pod.spec.containers ?? []).some(({ securityContext }) => securityContext?.privileged === true),
    before,
    after,
    change: before === null ? 'unknown' : changeOf(before, after),
  };
}

const imagesOf = ({ containers = [] }: PodSpec): string[] => containers.flatMap(({ image }) => image ?? []);

/** A ReplicaSet is known by its Deployment, a static pod by itself. */
function ownerOf(pod: Pod, replicaSets: readonly ReplicaSet[] | null): { kind: string; name: string } {
  const owner = controllerOf(pod.metadata.ownerReferences);
  if (owner === undefined || owner.kind === 'Node') return { kind: 'Pod', name: podName(pod) };
  const namespace = pod.metadata.namespace ?? 'default';
  const above = owner.kind === 'ReplicaSet' ? deploymentOf(owner, replicaSets) : undefined;
  const { kind, name } = above ?? owner;
  return { kind, name: `${namespace}/${name}` };
}

const controllerOf = (references: readonly OwnerReference[] = []): OwnerReference | undefined =>
  references.find(({ controller }) => controller === true) ?? references[0];

const deploymentOf = (
  { uid }: OwnerReference,
  replicaSets: readonly ReplicaSet[] | null,
): OwnerReference | undefined =>
  controllerOf(replicaSets?.find(({ metadata }) => metadata.uid === uid)?.metadata.ownerReferences);

export interface SingleReplica {
  kind: string;
  name: string;
  node: string;
}

/** Workloads whose only replica runs on one of the nodes: they blink when it moves. */
export function singleReplicas(
  nodes: readonly BuildNode[],
  sets: { replicaSets: readonly ReplicaSet[]; statefulSets: readonly StatefulSet[] },
): SingleReplica[] {
  const only = new Set(
    [...sets.replicaSets, ...sets.statefulSets]
      .filter(({ spec }) => (spec.replicas ?? 1) === 1)
      .map(({ metadata }) => metadata.uid),
  );
  return nodes.flatMap((node) =>
    node.pods
      .filter((pod) => only.has(controllerOf(pod.metadata.ownerReferences)?.uid ?? ''))
      .map((pod) => ({ ...ownerOf(pod, sets.replicaSets), node: node.name })),
  );
}
