/** Carries the table out: the holds that are due, as many as one step may write. */
import pMap from 'p-map';
import type { Guard } from './guard.ts';
import { holdClaim, holdNode } from './hold.ts';
import type { Entry } from './journal.ts';
import type { MergePatch } from './kubernetes.ts';
import type { Clock } from './ports.ts';
import type { Wanted } from './table.ts';

/** Writes a step begins; what is left is said and done by the next. 500 take seconds, a function has two minutes. */
export const WRITES_A_STEP = 500;

/** Requests to the API server at the same time: well below its default limits for one user. */
const AT_ONCE = 10;

export interface Kept {
  entries: Entry[];
  /** Holds that are due and not written: too many for a step, or changed meanwhile. */
  left: number;
}

interface Due {
  kind: 'Node' | 'NodeClaim';
  name: string;
  patch: MergePatch;
  wanted: Wanted;
  rollout: string | undefined;
  /** Written once the patch is: a NodeClaim's hold goes only when its node has its own. */
  then?: { kind: 'NodeClaim'; name: string; patch: MergePatch };
}

/** The patches that the table asks for; none where everything is held as it is to be. */
export function duePatches(wanted: readonly Wanted[], rollout: string | undefined, now: Date): Due[] {
  return wanted.flatMap((each): Due[] => {
    const { node, claim, hold } = each.node;
    const name = rollout ?? hold?.rollout ?? 'reconcile';
    const onNode = node && holdNode(node, each.want, name, now);
    // Once there is a node its annotation counts, and the NodeClaim's is only in the way.
    const onClaim = claim && holdClaim(claim, node === undefined && each.want.protect, name, now);
    const claimPatch = claim &&
      onClaim && { kind: 'NodeClaim' as const, name: claim.metadata.name, patch: onClaim };
    if (node && onNode) {
      const patch = { kind: 'Node' as const, name: node.metadata.name, patch: onNode, wanted: each, rollout };
      return [{ ...patch, ...(claimPatch && { then: claimPatch }) }];
    }
    return claimPatch ? [{ ...claimPatch, wanted: each, rollout }] : [];
  });
}

/**
 * Writes the holds that are due. `evidence` gets what was written also where a write ends the step: no other page of
 * the evidence would have it.
 */
export async function keep(
  ports: { clock: Clock },
  guard: Pick<Guard, 'tryPatch'>,
  due: readonly Due[],
  evidence: (entries: Entry[]) => Promise<void>,
): Promise<Kept> {
  const entries: Entry[] = [];
  const write = async (planned: Due): Promise<void> => {
    // A cordon's age counts from its own write: the first of many may be seconds before the last.
    const [due = planned] = duePatches([planned.wanted], planned.rollout, ports.clock.now());
    const { kind, name, patch, wanted, then } = due;
    if (!(await guard.tryPatch(kind, name, patch))) return;
    const { want, why } = wanted;
    entries.push({
      what: 'hold',
      at: ports.clock.now().toISOString(),
      node: wanted.node.name,
      protected: want.protect,
      cordoned: want.cordon,
      why,
    });
    // Where this one fails, the next look finds it due by itself.
    if (then) await guard.tryPatch(then.kind, then.name, then.patch);
  };
  try {
    await pMap(due.slice(0, WRITES_A_STEP), write, { concurrency: AT_ONCE });
  } finally {
    await evidence(entries);
  }
  return { entries, left: due.length - entries.length };
}
