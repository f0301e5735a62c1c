/**
 * Karpenter's scheduling simulation: which pods fit existing nodes, and which need new ones. First fit, initialized
 * nodes first, then by name. Source: karpenter pkg/controllers/provisioning/scheduling/scheduler.go.
 */
import type { NodeClaim, NodePool, Pod, Taint } from '../../rollout/kubernetes.ts';
import { isTrue } from './conditions.ts';
import { isDeleting, isInitialized, type Karpenter } from './karpenter.ts';
import { cpuOf, nodePoolLabel, notReadyTaint, sameTaint, unregisteredTaint } from './names.ts';
import {
  cpuRequest,
  isActive,
  isProvisionable,
  isReschedulable,
  isTerminal,
  protectsItself,
} from './pods.ts';
import { isFullyBlocked } from './pdb.ts';
import { selects, tolerates, untolerated } from './pods.ts';
import { now } from './types.ts';

/** Every node that Karpenter launches here has so many CPUs, where the scenario says nothing else. */
export const launchedCpu = ({ world }: Karpenter): number => world.settings.launchedCpu ?? 4;

interface Room {
  claim: NodeClaim;
  name: string;
  initialized: boolean;
  labels: Record<string, string> | undefined;
  taints: readonly Taint[];
  free: number;
  pods: Pod[];
}

export interface Placement {
  /** Existing nodes that pods were put on. */
  used: { claim: NodeClaim; pods: Pod[] }[];
  created: { pool: NodePool; pods: Pod[] }[];
  errors: Map<Pod, string>;
}

/** Pods that the scheduler could not place. */
export function pendingPods(karpenter: Karpenter): Pod[] {
  return [...karpenter.world.store.unboundPods()].filter(isProvisionable);
}

/** Pods on nodes that go: room is made for them beforehand, bare ones included. */
export function podsOfDeletingNodes(karpenter: Karpenter): Pod[] {
  const { store } = karpenter.world;
  const found: Pod[] = [];
  for (const claim of store.all('NodeClaim')) {
    if (!isDeleting(karpenter, claim)) continue;
    const node = store.nodeOf(claim);
    if (node === undefined) continue;
    for (const pod of store.podsOn(node.metadata.name)) if (isMovable(karpenter, pod)) found.push(pod);
  }
  return found;
}

export function isMovable(karpenter: Karpenter, pod: Pod): boolean {
  const { store } = karpenter.world;
  const stays = isActive(pod) && (protectsItself(pod, now(karpenter.world)) || isFullyBlocked(store, pod));
  return isReschedulable(pod) && !stays;
}

/**
 * Where the pods would go if the nodes of `without` were gone. undefined where no dynamic NodePool at all is Ready:
 * then the simulation itself fails, and with it the pass that asked for it.
 */
export function place(
  karpenter: Karpenter,
  pods: readonly Pod[],
  without: ReadonlySet<string>,
): Placement | undefined {
  const pools = [...karpenter.world.store.all('NodePool')].filter(
    (pool) => pool.spec.replicas === undefined && isTrue(pool, 'Ready'),
  );
  if (pools.length === 0) return undefined;
  const placement: Placement = { used: [], created: [], errors: new Map() };
  if (pods.length === 0) return placement;
  const rooms = existingRooms(karpenter, without);
  const remaining = remainingCpu(karpenter, pools, rooms);
  const launched = launchedCpu(karpenter);
  const opened: { pool: NodePool; pods: Pod[]; free: number }[] = [];
  for (const pod of [...pods].sort((one, other) => cpuRequest(other) - cpuRequest(one))) {
    const cpu = cpuRequest(pod);
    const room = rooms.find(
      (one) => one.free >= cpu && tolerates(pod, one.taints) && selects(pod, one.labels),
    );
    if (room !== undefined) {
      room.free -= cpu;
      room.pods.push(pod);
      continue;
    }
    const started = opened.find((one) => one.free >= cpu && fits(pod, one.pool, launched) === undefined);
    if (started !== undefined) {
      started.free -= cpu;
      started.pods.push(pod);
      continue;
    }
    const reasons: string[] = [];
    for (const pool of pools) {
      const reason = fits(pod, pool, launched) ?? exceeds(pool, remaining, Math.max(launched, cpu));
      if (reason !== undefined) {
        reasons.push(reason);
        continue;
      }
      remaining.set(pool.metadata.name, (remaining.get(pool.metadata.name) ?? 0) - launched);
      opened.push({ pool, pods: [pod], free: launched - cpu });
      break;
    }
    if (reasons.length === pools.length) placement.errors.set(pod, reasons.join('; '));
  }
  placement.used = rooms.filter((room) => room.pods.length > 0);
  placement.created = opened;
  for (const room of rooms) {
    if (room.initialized) continue;
    for (const pod of room.pods) {
      placement.errors.set(
        pod,
        `would schedule against uninitialized nodeclaim/${room.claim.metadata.name}${room.name}`,
      );
    }
  }
  return placement;
}

function existingRooms(karpenter: Karpenter, without: ReadonlySet<string>): Room[] {
  const { store } = karpenter.world;
  const rooms: Room[] = [];
  for (const claim of store.all('NodeClaim')) {
    if (without.has(claim.metadata.name) || isDeleting(karpenter, claim)) continue;
    const node = store.nodeOf(claim);
    const registered = node !== undefined && isTrue(claim, 'Registered');
    const initialized = isInitialized(node);
    // What a node has only until it is initialized is no obstacle: it will be gone.
    const taints = registered ? (node.spec.taints ?? []) : (claim.spec.taints ?? []);
    let free = cpuOf(
      registered
        ? node.status?.allocatable?.['cpu']
        : (claim.status?.capacity?.['cpu'] ?? launchedCpu(karpenter)),
    );
    if (node !== undefined) {
      for (const pod of store.podsOn(node.metadata.name)) if (!isTerminal(pod)) free -= cpuRequest(pod);
    }
    rooms.push({
      claim,
      name: node === undefined ? '' : `, node/${node.metadata.name}`,
      initialized,
      labels: registered ? node.metadata.labels : claim.metadata.labels,
      taints: initialized ? taints : taints.filter((taint) => !isEphemeral(taint)),
      free,
      pods: [],
    });
  }
  return rooms.sort(
    (one, other) => Number(other.initialized) - Number(one.initialized) || (one.name < other.name ? -1 : 1),
  );
}

function isEphemeral(taint: Taint): boolean {
  return sameTaint(taint, notReadyTaint) || sameTaint(taint, unregisteredTaint);
}

/** What is left of each pool's cpu limit beside the nodes that stay. Pools without a limit are absent. */
function remainingCpu(
  karpenter: Karpenter,
  pools: readonly NodePool[],
  rooms: readonly Room[],
): Map<string, number> {
  const remaining = new Map<string, number>();
  for (const pool of pools) {
    const limit = pool.spec.limits?.['cpu'];
    if (limit !== undefined) remaining.set(pool.metadata.name, cpuOf(limit));
  }
  if (remaining.size === 0) return remaining;
  for (const room of rooms) {
    const pool = room.claim.metadata.labels?.[nodePoolLabel] ?? '';
    const left = remaining.get(pool);
    if (left !== undefined) remaining.set(pool, left - claimCpu(karpenter, room.claim));
  }
  return remaining;
}

export function claimCpu(karpenter: Karpenter, claim: NodeClaim): number {
  return cpuOf(claim.status?.capacity?.['cpu'] ?? launchedCpu(karpenter));
}

function fits(pod: Pod, pool: NodePool, launched: number): string | undefined {
  const { metadata, spec } = pool.spec.template;
  const taint = untolerated(pod, spec.taints);
  const named = `NodePool=${pool.metadata.name}`;
  if (taint !== undefined) {
    return `did not tolerate taint (${named}, taint=${taint.key}${taint.value === undefined ? '' : `=${taint.value}`}:${taint.effect})`;
  }
  const labels = { ...metadata?.labels, [nodePoolLabel]: pool.metadata.name };
  if (!selects(pod, labels)) return `incompatible requirements (${named})`;
  if (cpuRequest(pod) > launched) return `no instance type has enough resources (${named})`;
  return undefined;
}

function exceeds(pool: NodePool, remaining: Map<string, number>, needed: number): string | undefined {
  const left = remaining.get(pool.metadata.name);
  if (left === undefined || left >= needed) return undefined;
  return `all available instance types exceed limits for nodepool (NodePool=${pool.metadata.name})`;
}
