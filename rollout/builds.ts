/** Which pods are Builds, which wait, and where they would fit. Pure. */
import { InvalidError } from './errors.ts';
import type { Node, NodePool, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint } from './kubernetes.ts';
import { parseSelector, type Selector } from './selector.ts';

/** Owners that would run the pod again just so. A Job, Tekton, Argo or a runner's controller would not. */
const RECREATING_OWNERS = new Set(['DaemonSet', 'ReplicaSet', 'StatefulSet', 'ReplicationController']);
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** namespace/name, of a pod or of what owns it. */
export const podName = ({ metadata }: Pick<Pod, 'metadata'>): string =>
  `${metadata.namespace ?? 'default'}/${metadata.name}`;

/** The policy's selector, which was accepted when the policy was read; where it says none every Build counts. */
export function selectorOf(policy: { buildSelector?: string }): Selector {
  if (policy.buildSelector === undefined) return () => true;
  const read = parseSelector(policy.buildSelector);
  if (read.ok) return read.value;
  throw new InvalidError(
    `imds_rollout_build_selector ${JSON.stringify(policy.buildSelector)} is no selector`,
  );
}

/** So long after the end of its grace a deleted pod is not waited for by Karpenter's drain: its kubelet is gone. */
const STUCK_TERMINATING_MS = 60_000;

const isStuckTerminating = ({ metadata: { deletionTimestamp } }: Pod, now: Date): boolean =>
  deletionTimestamp !== undefined &&
  now.getTime() - new Date(deletionTimestamp).getTime() > STUCK_TERMINATING_MS;

/** A pod that nobody would run again just so, bound or not. One that is stuck terminating is lost already. */
export function wouldBeBuild(pod: Pod, isSelected: Selector, now: Date): boolean {
  const finished =
    pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' || isStuckTerminating(pod, now);
  return !finished && isOfBuild(pod, isSelected);
}

/** The same, finished or not. */
function isOfBuild(pod: Pod, isSelected: Selector): boolean {
  const owned = pod.metadata.ownerReferences?.some(({ kind }) => RECREATING_OWNERS.has(kind)) ?? false;
  const mirror = pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  return !owned && !mirror && isSelected(pod.metadata.labels ?? {});
}

/** Ends that a node or somebody made, in the kubelet's words and Kubernetes' condition: no Build fails of itself so. */
const ENDED_FROM_OUTSIDE = new Set([
  'Evicted',
  'NodeLost',
  'NodeShutdown',
  'NodeAffinity',
  'Preempting',
  'Shutdown',
  'Terminated',
]);

/**
 * When a Build failed by itself; undefined for a pod that is none, or that was ended from outside. A pod that says
 * nowhere when counts from its creation.
 */
export function failedAt(pod: Pod, isSelected: Selector): string | undefined {
  const { metadata, status } = pod;
  const disrupted = status?.conditions?.some(
    (each) => each.type === 'DisruptionTarget' && each.status === 'True',
  );
  const fromOutside =
    disrupted === true ||
    metadata.deletionTimestamp !== undefined ||
    ENDED_FROM_OUTSIDE.has(status?.reason ?? '');
  if (status?.phase !== 'Failed' || fromOutside || !isOfBuild(pod, isSelected)) return undefined;
  const ends = (status.containerStatuses ?? []).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  const changes = (status.conditions ?? []).flatMap(({ lastTransitionTime }) => lastTransitionTime ?? []);
  return ends.sort().at(-1) ?? changes.sort().at(-1) ?? metadata.creationTimestamp;
}

/** Unbound, and the scheduler has said that it finds no node. */
const isUnschedulable = (pod: Pod): boolean =>
  pod.spec.nodeName === undefined &&
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions?.some(
    ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
  ) ??
    false);

/** Those of the Builds that wait for a node of the pool. */
export const waitingBuilds = (builds: readonly Pod[], pool: NodePool): Pod[] =>
  builds.filter((pod) => isUnschedulable(pod) && fitsPool(pod, pool));

export function tolerates(pod: Pod, taints: readonly Taint[]): boolean {
  const tolerations = pod.spec.tolerations ?? [];
  return taints
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) =>
      tolerations.some(
        ({ key, operator, value, effect }) =>
          (effect === undefined || effect === '' || effect === taint.effect) &&
          (operator === 'Exists'
            ? key === undefined || key === '' || key === taint.key
            : key === taint.key && (value ?? '') === (taint.value ?? '')),
      ),
    );
}

/** What a pool's nodes will carry: a fixed label, or a choice of values. */
type Allowed = (requirement: NodeSelectorRequirement) => boolean;

/** Labels that Karpenter or the cloud gives every node, whatever the pool says of them. */
const WELL_KNOWN =
  /^(?:kubernetes\.io|node\.kubernetes\.io|topology\.kubernetes\.io|topology\.k8s\.aws|karpenter\.sh|karpenter\.k8s\.aws)\//;

function poolAllows(pool: NodePool): Allowed {
  const { metadata, spec } = pool.spec.template;
  const labels: Record<string, string> = { 'karpenter.sh/nodepool': pool.metadata.name, ...metadata?.labels };
  const choices = spec.requirements ?? [];
  return (wanted) => {
    const label = labels[wanted.key];
    if (label !== undefined) return matches(wanted, label);
    const stated = choices.filter(({ key }) => key === wanted.key);
    const choice = stated.find(({ operator }) => operator === 'In');
    if (choice?.values !== undefined) return choice.values.some((value) => matches(wanted, value));
    // The pool only narrows the value: Karpenter gives the node what the pod wants of the rest.
    if (stated.length > 0 && wanted.operator === 'In' && wanted.values !== undefined)
      return wanted.values.some((value) => stated.every((each) => matches(each, value)));
    return WELL_KNOWN.test(wanted.key) || matches(wanted, undefined);
  };
}

function matches({ operator, values = [] }: NodeSelectorRequirement, label: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    case 'Gt':
      return label !== undefined && Number(label) > Number(values[0]);
    case 'Lt':
      return label !== undefined && Number(label) < Number(values[0]);
  }
}

/** Node selector and required node affinity: the selector's labels all, and of the affinity's terms any. */
function selects(pod: Pod, allows: Allowed, nodeName?: string): boolean {
  const selector = Object.entries(pod.spec.nodeSelector ?? {});
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  // A term that says nothing matches nothing. The only field that Kubernetes takes is metadata.name.
  const termAllows = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean =>
    matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every(allows) &&
    (nodeName === undefined || matchFields.every((field) => matches(field, nodeName)));
  return (
    selector.every(([key, value]) => allows({ key, operator: 'In', values: [value] })) &&
    (terms === undefined || terms.some(termAllows))
  );
}

export const fitsPool = (pod: Pod, pool: NodePool): boolean =>
  selects(pod, poolAllows(pool)) && tolerates(pod, pool.spec.template.spec.taints ?? []);

const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';

/** Whether the pod would fit the node if that were not cordoned: labels, taints, room. */
export function fitsNode(pod: Pod, node: Node, podsOnNode: readonly Pod[]): boolean {
  const labels = node.metadata.labels ?? {};
  const taints = (node.spec.taints ?? []).filter(({ key }) => key !== UNSCHEDULABLE_TAINT);
  return (
    selects(pod, (requirement) => matches(requirement, labels[requirement.key]), node.metadata.name) &&
    tolerates(pod, taints) &&
    hasRoom(pod, node, podsOnNode)
  );
}

function hasRoom(pod: Pod, node: Node, others: readonly Pod[]): boolean {
  const allocatable = node.status?.allocatable ?? {};
  return ['cpu', 'memory'].every((resource) => {
    const room = allocatable[resource];
    if (room === undefined) return true;
    const used = others.reduce((sum, other) => sum + requested(other, resource), 0);
    return used + requested(pod, resource) <= quantity(room);
  });
}

const requested = (pod: Pod, resource: string): number =>
  (pod.spec.containers ?? []).reduce(
    (sum, { resources }) => sum + quantity(resources?.requests?.[resource] ?? '0'),
    0,
  );

const FACTORS: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes resource quantity as a number; one that is not a quantity leaves no room. */
export function quantity(text: string): number {
  const [, digits, suffix] = /^([\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = suffix === '' ? 1 : FACTORS[suffix ?? ''];
  return digits === undefined || factor === undefined ? Number.NaN : Number(digits) * factor;
}
