/** What a rollout is for: the values to reach, and their name. */
import { createHash } from 'node:crypto';
import type { EC2NodeClass } from './kubernetes.ts';
import { classOptions, loosenedOptions, OPTIONS, type AllOptions, type Option } from './options.ts';
import type { Policy } from './desired.ts';
import type { Options, RolloutRecord } from './record.ts';

export interface Purpose {
  /** The values of every owned option, those that go back to the baseline included. */
  target: Options;
  /** The options that nobody asks for any more: back to the baseline, then not owned. */
  restoring: Option[];
  /** Hash of class UID, owned options and desired values. It names a purpose, never an execution. */
  generation: string;
}

/**
 * The baseline that counts for a class: one that was deleted and made again is another class, and one that the pool comes
 * back to has its own still.
 */
export const baselineOf = (
  { classUid: known, baseline, left = [] }: RolloutRecord,
  classUid: string,
): Options =>
  known === undefined || known === classUid
    ? baseline
    : (left.find(({ uid }) => uid === classUid)?.baseline ?? {});

/** Where somebody else writes the class, what it goes back to is for them to say: nothing is restored. */
export function purposeOf(
  { ask, policy }: { ask: Options; policy: Pick<Policy, 'classWriter'> },
  record: RolloutRecord,
  classUid: string,
): Purpose {
  const baseline = policy.classWriter === 'external' ? {} : baselineOf(record, classUid);
  const target: Options = { ...baseline, ...ask };
  const restoring = OPTIONS.filter((option) => ask[option] === undefined && baseline[option] !== undefined);
  const values = OPTIONS.map((option) => target[option] ?? null);
  const generation = createHash('sha256')
    .update(JSON.stringify([classUid, ...values]))
    .digest('hex')
    .slice(0, 12);
  return { target, restoring, generation };
}

/**
 * Why this change may not start by itself; undefined where it may. `from`: the class, and live instances where known.
 * Values are left out that `beside` has, which is said beside it.
 */
export function needsApproval(
  policy: Policy,
  from: readonly AllOptions[],
  target: Options,
  beside?: AllOptions,
): string | undefined {
  if (policy.approval === 'always') return 'imds_rollout_approval is "always"';
  const words = (each: AllOptions): string[] =>
    loosenedOptions(each, target).map((option) =>
      each[option] === beside?.[option]
        ? option
        : `${option} ${String(each[option])} → ${String(target[option])}`,
    );
  const looser = [...new Set(from.flatMap(words))];
  if (policy.approval === 'loosening' && looser.length > 0) return `it loosens ${looser.join(' and ')}`;
  return undefined;
}

/**
 * What new values may not loosen by themselves: what the class says, and what a rollout that is not over has patched it
 * to, or else the last success reached. Whoever has loosened the class by hand since has approved of nothing. What
 * somebody else writes is theirs to say.
 */
export function standing(
  { classWriter }: Pick<Policy, 'classWriter'>,
  record: RolloutRecord,
  nodeClass: EC2NodeClass,
): AllOptions[] {
  const said = classOptions(nodeClass);
  if (classWriter === 'external' || record.classUid !== nodeClass.metadata.uid) return [said];
  const isUnderway = record.patchedAt !== undefined && record.takingBack === undefined;
  return [said, { ...said, ...(isUnderway ? { ...record.baseline, ...record.ask } : record.reached) }];
}
