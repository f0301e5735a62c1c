/** What Karpenter and the schedulers read off a pod. Source: karpenter pkg/utils/pod/scheduling.go. */
import type { NodeSelectorRequirement, Pod, Taint, Toleration } from '../../rollout/kubernetes.ts';
import { cpuOf, disruptedTaint, doNotDisrupt, parseGoDuration } from './names.ts';

export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod);
}

export function ownedBy(pod: Pod, kind: string): boolean {
  return pod.metadata.ownerReferences?.some((owner) => owner.kind === kind) ?? false;
}

/** Counts for a disruption: has to run somewhere else afterwards. Bare pods count, though nobody re-creates them. */
export function isReschedulable(pod: Pod): boolean {
  const wanted = isActive(pod) || (ownedBy(pod, 'StatefulSet') && isTerminating(pod));
  return wanted && !ownedBy(pod, 'DaemonSet') && !ownedBy(pod, 'Node');
}

/** Pending, and the scheduler has said that it fits nowhere. */
export function isProvisionable(pod: Pod): boolean {
  const unschedulable = pod.status?.conditions?.some(
    (condition) => condition.type === 'PodScheduled' && condition.reason === 'Unschedulable',
  );
  return (
    unschedulable === true &&
    pod.spec.nodeName === undefined &&
    isActive(pod) &&
    !ownedBy(pod, 'DaemonSet') &&
    !ownedBy(pod, 'Node')
  );
}

/** "true", or a duration that counts from the pod's creation. */
export function protectsItself(pod: Pod, at: number): boolean {
  const value = pod.metadata.annotations?.[doNotDisrupt];
  if (value === undefined) return false;
  if (value === 'true') return true;
  const duration = parseGoDuration(value);
  return duration !== undefined && at - Date.parse(pod.metadata.creationTimestamp) < duration;
}

function toleratesDisruption(pod: Pod): boolean {
  return tolerates(pod, [disruptedTaint]);
}

/** Whether Karpenter would call the eviction API on it. */
export function isEvictable(pod: Pod, at: number): boolean {
  return isActive(pod) && !toleratesDisruption(pod) && !ownedBy(pod, 'Node') && !protectsItself(pod, at);
}

/** Whether a drain waits for it: pods that protect themselves included, those that are stuck terminating not. */
export function isWaitedForByDrain(pod: Pod, at: number): boolean {
  if (isTerminal(pod) || toleratesDisruption(pod) || ownedBy(pod, 'Node')) return false;
  const { deletionTimestamp } = pod.metadata;
  return deletionTimestamp === undefined || at - Date.parse(deletionTimestamp) <= 60_000;
}

export function cpuRequest(pod: Pod): number {
  let total = 0;
  for (const container of pod.spec.containers ?? []) total += cpuOf(container.resources?.requests?.['cpu']);
  return total;
}

/** Preferred taints keep nobody away. */
export function tolerates(pod: Pod, taints: readonly Taint[] | undefined): boolean {
  return untolerated(pod, taints) === undefined;
}

export function untolerated(pod: Pod, taints: readonly Taint[] | undefined): Taint | undefined {
  return taints?.find(
    (taint) =>
      taint.effect !== 'PreferNoSchedule' && !pod.spec.tolerations?.some((one) => covers(one, taint)),
  );
}

function covers(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== '' && toleration.effect !== taint.effect)
    return false;
  if (toleration.key !== undefined && toleration.key !== '' && toleration.key !== taint.key) return false;
  return toleration.operator === 'Exists' || (toleration.value ?? '') === (taint.value ?? '');
}

/** Node selector and required node affinity. */
export function selects(pod: Pod, labels: Record<string, string> | undefined): boolean {
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (labels?.[key] !== value) return false;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.some((term) => (term.matchExpressions ?? []).every((one) => matches(one, labels))) ?? true;
}

function matches(requirement: NodeSelectorRequirement, labels: Record<string, string> | undefined): boolean {
  const value = labels?.[requirement.key];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && (requirement.values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(requirement.values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(requirement.values?.[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(requirement.values?.[0]);
  }
}
