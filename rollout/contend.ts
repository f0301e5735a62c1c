/** Contention: somebody puts the class's values back. They are written again a few times, and then it is said. Pure. */
import type { EC2NodeClass } from './kubernetes.ts';
import { GENERATION_ANNOTATION } from './naming.ts';
import { classOptions, inWords, mismatches, pick } from './options.ts';
import { managersOf } from './owners.ts';
import type { Options, RolloutRecord } from './record.ts';

const MOST_AN_HOUR = 3;
const HOUR_MS = 3_600_000;

export type Contention =
  /** What the record is to remember of the times at which values were written again, this one included. */
  { kind: 'mine'; reapplied: NonNullable<RolloutRecord['reapplied']> } | { kind: 'contended'; why: string };

/** Whether what is to be written was written before: the way back has its first write once the way there had its own. */
const isWritten = ({ takingBack, lastPatchAt }: RolloutRecord): boolean =>
  takingBack === undefined || (lastPatchAt !== undefined && lastPatchAt >= takingBack.since);

/**
 * Whether the values may be written into the class. One that carries the purpose's own annotation was written for it
 * before, so that other values in it were put back since; one generation of the class is one time of putting back,
 * however often writing it again is tried.
 */
export function contention(
  { generation, target }: { generation: string; target: Options },
  nodeClass: EC2NodeClass,
  record: RolloutRecord,
  now: Date,
): Contention {
  const recent = (record.reapplied ?? []).filter(
    ({ at }) => now.getTime() - new Date(at).getTime() < HOUR_MS,
  );
  const { annotations, generation: classGeneration = 0 } = nodeClass.metadata;
  const differing = mismatches(target, classOptions(nodeClass));
  const putBack =
    differing.length > 0 && annotations?.[GENERATION_ANNOTATION] === generation && isWritten(record);
  if (!putBack || recent.some((each) => each.classGeneration === classGeneration))
    return { kind: 'mine', reapplied: recent };
  if (recent.length < MOST_AN_HOUR)
    return { kind: 'mine', reapplied: [...recent, { at: now.toISOString(), classGeneration }] };
  const who = managersOf(nodeClass, differing);
  const said = inWords(pick(classOptions(nodeClass), differing));
  return {
    kind: 'contended',
    why:
      `${who.join(' and ') || 'somebody'} put ${said} back into EC2NodeClass ${nodeClass.metadata.name}, where ` +
      `${inWords(pick(target, differing))} was written again ${String(MOST_AN_HOUR)} times within an hour: make the two agree`,
  };
}
