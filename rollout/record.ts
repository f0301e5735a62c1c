/** The service's memory of a rack: what it owned, wrote and concluded. The class's annotations are only for reading. */
import { z } from 'zod';

/** The two options that a rollout may own, each absent where it is not owned. */
export const optionsSchema = z.strictObject({
  httpTokens: z.enum(['optional', 'required']).exactOptional(),
  httpPutResponseHopLimit: z.int().min(1).max(64).exactOptional(),
});
export type Options = z.infer<typeof optionsSchema>;

export const outcomes = [
  'Succeeded',
  'NothingToDo',
  'Superseded',
  'Withdrawn',
  'Refused',
  'Rejected',
  'Expired',
  'Aborted',
  'RolledBack',
  'Contended',
  'Failed',
] as const;
export type Outcome = (typeof outcomes)[number];

/** How much of a reason is remembered: a record is at most 4 KB, as Parameter Store's standard tier has it. */
export const REASON_LENGTH = 1000;

const instant = z.iso.datetime();

/** Who approved of what, and why: the identity is the one that STS gave. */
export const approvedSchema = z.strictObject({
  hash: z.string(),
  by: z.string(),
  reason: z.string(),
  at: instant,
});
export type Approved = z.infer<typeof approvedSchema>;

export const recordSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** The class that everything below is about; another UID under the same name is another class. */
  classUid: z.string().exactOptional(),
  /** Per option, what the class said before it was first owned. Cleared when it has been given back. */
  baseline: optionsSchema,
  /** Classes that the pool has ceased to refer to before they were given their values back: what each said before. */
  left: z
    .array(z.strictObject({ class: z.string(), uid: z.string(), baseline: optionsSchema }))
    .exactOptional(),
  /** The last accepted ask: what the parameters' last acceptable values wanted. */
  ask: optionsSchema.exactOptional(),
  /** What the last success found the class to say, of the options that are still owned. */
  reached: optionsSchema.exactOptional(),
  generation: z.string().exactOptional(),
  /** Hash of the names of the parameters that the rollout last read: one that is deleted leaves no date behind. */
  asked: z.string().exactOptional(),
  /** Who approved of this generation, where somebody had to: a repair of it needs nobody again. */
  approved: approvedSchema.exactOptional(),
  /** Just before the first patch of this generation; the deadline counts from here and never moves. */
  patchedAt: instant.exactOptional(),
  /** Just before the last patch of it, which may be a later one: how far Karpenter is counts from here. */
  lastPatchAt: instant.exactOptional(),
  /** The class's own hash annotation before that patch: until it changed, Karpenter has not seen the patch. */
  hashBefore: z.string().exactOptional(),
  /** The class's exact values before that patch, where a taking back returns to. */
  prior: optionsSchema.exactOptional(),
  /** Since when the class's external writer is waited for; absent once the class says what is asked. */
  awaitedSince: instant.exactOptional(),
  /** Set from the decision to take back until it is done. */
  takingBack: z.strictObject({ since: instant, why: z.string() }).exactOptional(),
  /** When values that somebody had put back were written again, within an hour, and over which generation of the class. */
  reapplied: z.array(z.strictObject({ at: instant, classGeneration: z.int() })).exactOptional(),
  /** From before the first mark of a canary until a whole look found none: nodes may carry marks. */
  canary: z
    .strictObject({
      since: instant,
      /** Nobody goes on with it: whoever plans next puts it back, and the last outcome stays. */
      putBack: z.boolean().exactOptional(),
      /** How far Karpenter was with the class then, which an earlier rollout may have patched just before. */
      classPatchedAt: instant.exactOptional(),
      hashBefore: z.string().exactOptional(),
    })
    .exactOptional(),
  /** Written before the first hold, cleared when a whole look found none. */
  holdsMayExist: z.boolean(),
  /** When the Lease last changed hands by force: a Lambda of the old holder may still write for its time-out. */
  takenOverAt: instant.exactOptional(),
  last: z
    .strictObject({
      outcome: z.enum(outcomes),
      reason: z.string(),
      execution: z.string(),
      endedAt: instant,
      generation: z.string().exactOptional(),
      /** lastModifiedDate by parameter key at the time: a later date is a parameter written again. */
      parameters: z.record(z.string(), instant),
      report: z.strictObject({ key: z.string(), sha256: z.string() }).exactOptional(),
      /** Hash of what the parameters were refused for by then, which was told with it. */
      refused: z.string().exactOptional(),
    })
    .exactOptional(),
});
export type RolloutRecord = z.infer<typeof recordSchema>;

/** When the class was last written. What was launched before may be from the class of before. */
export function lastPatchOf({
  patchedAt,
  lastPatchAt,
}: Pick<RolloutRecord, 'patchedAt' | 'lastPatchAt'>): Date | undefined {
  const last = lastPatchAt ?? patchedAt;
  return last === undefined ? undefined : new Date(last);
}

/** What is known of a rack that was never rolled out. */
export const emptyRecord: RolloutRecord = { schemaVersion: 1, baseline: {}, holdsMayExist: false };
