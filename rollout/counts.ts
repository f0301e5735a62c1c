/** What a look counts of the fleet: instances by verdict, and what is held. Pure. */
import type { BuildNode, Fleet } from './fleet.ts';
import type { Options } from './record.ts';
import type { Counts } from './state.ts';
import { verdictOf, type Wanted } from './table.ts';

/** Held once what is due is written; a node that cannot be judged keeps what it carries. */
function heldAfter(fleet: Fleet, wanted: readonly Wanted[]): BuildNode[] {
  const due = new Map(wanted.map(({ node, want }) => [node, want.protect || want.cordon]));
  return fleet.nodes.filter((node) => due.get(node) ?? (node.hold !== undefined && !node.leaving));
}

export interface Counted {
  counts: Counts;
  wrong: BuildNode[];
  unknown: BuildNode[];
  /** Held nodes that run Builds. */
  busy: BuildNode[];
}

/** Instances judged by `target`, and what is held once `wanted` is written. */
export function count(
  fleet: Fleet,
  wanted: readonly Wanted[],
  target: Options,
  patchedAt: Date | undefined,
): Counted {
  const judged = fleet.nodes
    .filter(({ instance }) => instance?.state !== 'shutting-down')
    .map((node) => ({ node, verdict: verdictOf(node, target, patchedAt) }));
  const of = (verdict: string): BuildNode[] =>
    judged.filter((each) => each.verdict === verdict).map(({ node }) => node);
  const held = heldAfter(fleet, wanted);
  const busy = held.filter(({ builds }) => builds.length > 0);
  const [wrong, unknown] = [of('wrong'), of('unknown')];
  return {
    counts: {
      right: of('right').length,
      wrong: wrong.length,
      unknown: unknown.length,
      off: of('off').length,
      held: held.length,
      buildsOnHeldNodes: busy.reduce((sum, { builds }) => sum + builds.length, 0),
      waitingBuilds: fleet.waiting.length,
    },
    wrong,
    unknown,
    busy,
  };
}

/** As it was when the nodes were read: what this look placed has no age yet, and what it released is gone. */
export function oldestHold(fleet: Fleet): { oldestHoldSince?: string } {
  const [since] = fleet.nodes.flatMap(({ hold }) => hold?.since ?? []).sort();
  return { ...(since !== undefined && { oldestHoldSince: since }) };
}
