/** A hold: what a node or an unregistered NodeClaim is kept by, and what was there before. Pure. */
import { z } from 'zod';
import type { MergePatch, Node, NodeClaim } from './kubernetes.ts';
import { DO_NOT_DISRUPT, HOLD_ANNOTATION } from './naming.ts';

export const holdSchema = z.strictObject({
  rollout: z.string(),
  /** What releasing puts back: written only where no hold of ours was. */
  before: z.strictObject({ doNotDisrupt: z.string().nullable(), unschedulable: z.boolean() }),
  /** Since when it has been held without a gap, whatever held it and for whichever rollout. */
  since: z.iso.datetime().exactOptional(),
  /** When our cordon was placed; absent while there is none. */
  cordonedAt: z.iso.datetime().exactOptional(),
  /** The waiting Build for which the node was uncordoned again. */
  lentTo: z.string().exactOptional(),
});
export type Hold = z.infer<typeof holdSchema>;

/** What is to hold a node. `lentTo` goes with protection alone. */
export interface Want {
  protect: boolean;
  cordon: boolean;
  lentTo?: string;
}

export const NOTHING: Want = { protect: false, cordon: false };
export const PROTECT: Want = { protect: true, cordon: false };
export const CORDON: Want = { protect: false, cordon: true };
export const BOTH: Want = { protect: true, cordon: true };

type Held = Pick<Node, 'metadata'> | Pick<NodeClaim, 'metadata'>;

const UNREADABLE = 'unreadable';

/** Our hold on a node or NodeClaim. One that cannot be read is still a hold, never "none". */
export function holdOn(object: Held): Hold | undefined {
  const text = object.metadata.annotations?.[HOLD_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    return holdSchema.parse(JSON.parse(text));
  } catch {
    // Edited by hand: what was before is lost, so releasing leaves neither annotation nor cordon behind.
    return { rollout: UNREADABLE, before: { doNotDisrupt: null, unschedulable: false } };
  }
}

export const isProtected = (object: Held): boolean =>
  object.metadata.annotations?.[DO_NOT_DISRUPT] === 'true';
export const isCordoned = (node: Node): boolean => node.spec.unschedulable === true;

/**
 * The one guarded patch that turns what holds a node into what is wanted; undefined where nothing is to be written.
 * `cordonedAt` starts anew whenever our cordon was not in force.
 */
export function holdNode(node: Node, want: Want, rollout: string, now: Date): MergePatch | undefined {
  const hold = holdOn(node);
  if (!want.protect && !want.cordon) return hold === undefined ? undefined : releaseNode(node, hold);
  const before = beforeOf(node, hold);
  const cordonedAt = isCordoned(node) ? (hold?.cordonedAt ?? now.toISOString()) : now.toISOString();
  const next: Hold = {
    rollout,
    before,
    ...sinceOf(hold, now),
    ...(want.cordon && { cordonedAt }),
    ...(want.lentTo !== undefined && { lentTo: want.lentTo }),
  };
  return difference(
    node,
    want.protect ? 'true' : before.doNotDisrupt,
    JSON.stringify(next),
    want.cordon || before.unschedulable,
  );
}

/**
 * What releasing puts back. A cordon beside a hold of ours that has placed none is somebody else's, and came since: it is
 * theirs to lift. A do-not-disrupt over ours cannot be told from it.
 */
function beforeOf(node: Node, hold: Hold | undefined): Hold['before'] {
  if (hold === undefined) {
    return {
      doNotDisrupt: node.metadata.annotations?.[DO_NOT_DISRUPT] ?? null,
      unschedulable: isCordoned(node),
    };
  }
  const isTheirs = hold.rollout !== UNREADABLE && hold.cordonedAt === undefined && isCordoned(node);
  return isTheirs ? { ...hold.before, unschedulable: true } : hold.before;
}

/** Of a hold that does not say it, nobody knows. */
const sinceOf = (hold: Hold | undefined, now: Date): Pick<Hold, 'since'> =>
  hold === undefined
    ? { since: now.toISOString() }
    : { ...(hold.since !== undefined && { since: hold.since }) };

function releaseNode(node: Node, hold: Hold): MergePatch | undefined {
  const { doNotDisrupt, unschedulable } = beforeOf(node, hold);
  return difference(node, doNotDisrupt, null, unschedulable);
}

function difference(
  node: Node,
  doNotDisrupt: string | null,
  hold: string | null,
  unschedulable: boolean,
): MergePatch | undefined {
  const annotations = annotationDifference(node, doNotDisrupt, hold);
  const cordonChanges = isCordoned(node) !== unschedulable;
  if (annotations === undefined && !cordonChanges) return undefined;
  return {
    metadata: { resourceVersion: node.metadata.resourceVersion, ...(annotations && { annotations }) },
    // Kubernetes leaves the field out where it is false, as `kubectl uncordon` does.
    ...(cordonChanges && { spec: { unschedulable: unschedulable ? true : null } }),
  };
}

function annotationDifference(
  object: Held,
  doNotDisrupt: string | null,
  hold: string | null,
): MergePatch | undefined {
  const wanted = { [DO_NOT_DISRUPT]: doNotDisrupt, [HOLD_ANNOTATION]: hold };
  const changed = Object.entries(wanted).filter(
    ([key, value]) => (object.metadata.annotations?.[key] ?? null) !== value,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** The same for a NodeClaim without a node: Karpenter copies both annotations to the node when it registers. */
export function holdClaim(
  claim: NodeClaim,
  protect: boolean,
  rollout: string,
  now: Date,
): MergePatch | undefined {
  const hold = holdOn(claim);
  if (!protect && hold === undefined) return undefined;
  const before = hold?.before ?? {
    doNotDisrupt: claim.metadata.annotations?.[DO_NOT_DISRUPT] ?? null,
    unschedulable: false,
  };
  const annotations = protect
    ? annotationDifference(
        claim,
        'true',
        JSON.stringify({ rollout, before, ...sinceOf(hold, now) } satisfies Hold),
      )
    : annotationDifference(claim, before.doNotDisrupt, null);
  return annotations && { metadata: { resourceVersion: claim.metadata.resourceVersion, annotations } };
}
