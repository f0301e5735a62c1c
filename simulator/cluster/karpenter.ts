/** What the controllers of one Karpenter share: its process, its memory and its voice. */
import type { Node, NodeClaim, NodePool } from '../../rollout/kubernetes.ts';
import type { EndedBy } from '../parts.ts';
import { isTrue } from './conditions.ts';
import type { Events } from './events.ts';
import { initializedLabel, nodePoolLabel } from './names.ts';
import { KarpenterProcess } from './process.ts';
import { now, type World } from './types.ts';

/** batch-max-duration is 10 s by default, and a nomination lasts twice that. */
const nominationMs = 20_000;

export interface Karpenter {
  readonly world: World;
  readonly process: KarpenterProcess;
  readonly events: Events;
  /** Names of NodeClaims that a command is about to delete. In memory: a restart forgets them. */
  readonly marked: Set<string>;
  /** Until when a NodeClaim is nominated for a pending pod, by name. */
  readonly nominatedUntil: Map<string, number>;
  /** Why a NodeClaim was deleted, for `endedBy`; the first cause stands. */
  readonly causes: Map<string, EndedBy>;
  /** `v5` in 1.14; an upgrade raises it. */
  hashVersion: number;
}

export function createKarpenter(world: World, events: Events): Karpenter {
  const process = new KarpenterProcess(world.clock);
  const karpenter: Karpenter = {
    world,
    process,
    events,
    marked: new Set(),
    nominatedUntil: new Map(),
    causes: new Map(),
    hashVersion: 5,
  };
  process.onStop(() => {
    karpenter.marked.clear();
    karpenter.nominatedUntil.clear();
    events.forget();
  });
  world.store.watch('NodeClaim', ({ before, after }) => {
    if (after !== undefined || before === undefined) return;
    karpenter.marked.delete(before.metadata.name);
    karpenter.nominatedUntil.delete(before.metadata.name);
    karpenter.causes.delete(before.metadata.name);
  });
  return karpenter;
}

export function poolOf(karpenter: Karpenter, claim: NodeClaim): NodePool | undefined {
  return karpenter.world.store.get('NodePool', claim.metadata.labels?.[nodePoolLabel] ?? '');
}

export function isDeleting(karpenter: Karpenter, claim: NodeClaim): boolean {
  return (
    claim.metadata.deletionTimestamp !== undefined ||
    karpenter.marked.has(claim.metadata.name) ||
    isTrue(claim, 'InstanceTerminating')
  );
}

export function isInitialized(node: Node | undefined): node is Node {
  return node?.metadata.labels?.[initializedLabel] === 'true';
}

export function nominate(karpenter: Karpenter, claim: NodeClaim): void {
  karpenter.nominatedUntil.set(claim.metadata.name, now(karpenter.world) + nominationMs);
}

export function isNominated(karpenter: Karpenter, claim: NodeClaim): boolean {
  return (karpenter.nominatedUntil.get(claim.metadata.name) ?? 0) > now(karpenter.world);
}

/** Deletes the NodeClaim, and remembers why for the record of its instance. */
export function deleteClaim(karpenter: Karpenter, claim: NodeClaim, why: EndedBy): void {
  const { name } = claim.metadata;
  if (!karpenter.causes.has(name)) karpenter.causes.set(name, why);
  karpenter.world.store.delete('NodeClaim', name);
}
