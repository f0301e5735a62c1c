/** The labels, annotations, taints and finalizers of Kubernetes and Karpenter 1.14 that the cluster acts on. */
import type { Taint } from '../../rollout/kubernetes.ts';

export const nodePoolLabel = 'karpenter.sh/nodepool';
export const nodeClassLabel = 'karpenter.k8s.aws/ec2nodeclass';
export const registeredLabel = 'karpenter.sh/registered';
export const initializedLabel = 'karpenter.sh/initialized';

export const doNotDisrupt = 'karpenter.sh/do-not-disrupt';
export const classHash = 'karpenter.k8s.aws/ec2nodeclass-hash';
export const classHashVersion = 'karpenter.k8s.aws/ec2nodeclass-hash-version';
export const terminationTimestamp = 'karpenter.sh/nodeclaim-termination-timestamp';

export const terminationFinalizer = 'karpenter.sh/termination';

export const disruptedTaint: Taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
export const unregisteredTaint: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
export const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
export const notReadyTaint: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
export const unreachableTaints: readonly Taint[] = [
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
];

/** Where Builds and parked pods live. */
export const buildNamespace = 'builds';

let lastStamp = { at: Number.NaN, text: '' };

/** Kubernetes' timestamps have whole seconds. Remembers the last one: thousands of objects are written in one moment. */
export function stamp(date: Date): string {
  const at = date.getTime();
  if (at !== lastStamp.at) lastStamp = { at, text: `${date.toISOString().slice(0, 19)}Z` };
  return lastStamp.text;
}

/** A duration as Go writes it for whole seconds, e.g. `60s`. */
export function goSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1_000)}s`;
}

/** Milliseconds of Go's `1h30m`, `300s`, `500ms`; undefined for anything that is no positive duration. */
export function parseGoDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  const sizes: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    total += Number(number) * (sizes[unit ?? ''] ?? 0);
  }
  return total > 0 ? total : undefined;
}

/** CPUs of a Kubernetes quantity: `4`, `500m`. */
export function cpuOf(quantity: string | number | undefined): number {
  if (quantity === undefined) return 0;
  const text = String(quantity);
  return text.endsWith('m') ? Number(text.slice(0, -1)) / 1_000 : Number(text);
}

export function sameTaint(one: Taint, other: Taint): boolean {
  return one.key === other.key && one.effect === other.effect;
}
