/**
 * What travels from step to step of an execution: what is asked, how far it is, and counts. It does not grow with
 * the fleet; what it says of nodes by name is cut to a few. A step's input is the previous step's output.
 */
import { z } from 'zod';
import { decisionSchema, questionSchema } from './approval.ts';
import { approvedSchema, optionsSchema, outcomes } from './record.ts';

const instant = z.iso.datetime();

/** How soon after the patch the class is looked at, and until it is Ready again and again. */
export const READY_LOOK_SECONDS = 5;

const policySchema = z.strictObject({
  strategy: z.enum(['graceful', 'karpenter', 'immediate']),
  deadline: z.number(),
  stragglers: z.enum(['modify', 'wait', 'fail']),
  drainTimeout: z.number(),
  classWriter: z.enum(['service', 'external']),
  approval: z.enum(['never', 'loosening', 'always']),
  canary: z
    .strictObject({
      size: z.strictObject({ number: z.int(), unit: z.enum(['nodes', 'percent']) }),
      bake: z.number(),
    })
    .exactOptional(),
  buildSelector: z.string().exactOptional(),
});

export const countsSchema = z.strictObject({
  right: z.int(),
  wrong: z.int(),
  unknown: z.int(),
  off: z.int(),
  held: z.int(),
  buildsOnHeldNodes: z.int(),
  waitingBuilds: z.int(),
});
export type Counts = z.infer<typeof countsSchema>;

/** What every step knows, whatever was decided. */
const stepSchema = z.strictObject({
  /** Of this schema. A function accepts its own and the one before, so that an upgrade may meet a running rollout. */
  schemaVersion: z.literal(1),
  rack: z.string(),
  execution: z.string(),
  startedAt: instant,
  /** Looks so far; what the state transitions are counted from. */
  looks: z.int(),
});

const canarySchema = z.strictObject({
  /** Since when its nodes carry their marks: from then on they may be modified, and what they show counts. */
  markedAt: instant.exactOptional(),
  /** Since when the options are in force on every one of them. */
  bakingSince: instant.exactOptional(),
  /** How often all of them vanished and others were chosen. */
  chosenAgain: z.int().exactOptional(),
  /** How it ended, in words: the class may be patched. */
  over: z.string().exactOptional(),
  /** Since when it is being put back. */
  putBackSince: instant.exactOptional(),
});

/** A rollout on its way. */
export const rollingSchema = stepSchema.extend({
  next: z.enum([
    'hold-and-patch',
    'modify-canary',
    'put-canary-back',
    'look',
    'modify-stragglers',
    'take-back',
  ]),
  /** Seconds. */
  lookAgainIn: z.int().min(0),
  generation: z.string(),
  target: optionsSchema,
  restoring: z.array(z.enum(['httpTokens', 'httpPutResponseHopLimit'])),
  policy: policySchema,
  /** When the class's patch was due, from the record; absent before it. */
  patchedAt: instant.exactOptional(),
  /** When it was last patched, likewise. */
  lastPatchAt: instant.exactOptional(),
  /** Since when the class's external writer is waited for, likewise. */
  awaitedSince: instant.exactOptional(),
  /** The last look that read everything. */
  wholeLookAt: instant,
  /** The newest moment that the cluster itself had dated at the last look, by its own clock. */
  clusterTime: instant.exactOptional(),
  compliantAt: instant.exactOptional(),
  /** When it first was compliant: an instance that is unknown for one look does not prolong the drain. */
  drainingSince: instant.exactOptional(),
  /** Since when some instance has been unknown at every look. */
  unknownSince: instant.exactOptional(),
  /** What is left of EC2's bucket for modifications, as of when. */
  bucket: z
    .strictObject({
      tokens: z.number(),
      at: instant,
      refused: z.int().describe('rounds in a row without one accepted'),
    })
    .exactOptional(),
  /** Strategy immediate: every live instance has been asked to change before the patch. */
  modifiedAll: z.boolean().exactOptional(),
  takingBack: z.string().exactOptional(),
  /** How far it is with its canary; absent where it has none. Which nodes they are their own marks say. */
  canary: canarySchema.exactOptional(),
  /** Who approved of it, where somebody had to. */
  approved: approvedSchema.exactOptional(),
  counts: countsSchema.exactOptional(),
  /** Since when the node has been held that has been held longest, as of the last look. */
  oldestHoldSince: instant.exactOptional(),
  /** What it waits for, in words. */
  waitsFor: z.string().exactOptional(),
});
export type Rolling = z.infer<typeof rollingSchema>;

/** A rollout that waits for a person, before it holds or writes anything. */
export const awaitingSchema = stepSchema.extend({
  next: z.literal('await-approval'),
  question: questionSchema,
  waitsFor: z.string(),
  /** Added by the task that waited. */
  decided: decisionSchema.exactOptional(),
});
export type Awaiting = z.infer<typeof awaitingSchema>;

/** A rollout that goes before an earlier one which still waits for a person. */
export const endWaitSchema = stepSchema.extend({
  next: z.literal('end-wait'),
  /** The execution that waits. */
  earlier: z.string(),
  waitsFor: z.string(),
});
export type EndWait = z.infer<typeof endWaitSchema>;

/** The end of the way: what Conclude carries out and the execution ends with. */
export const concludingSchema = stepSchema.extend({
  next: z.literal('conclude'),
  outcome: z.enum(outcomes),
  reason: z.string(),
  generation: z.string().exactOptional(),
  target: optionsSchema.exactOptional(),
  compliantAt: instant.exactOptional(),
  counts: countsSchema.exactOptional(),
  restoring: rollingSchema.shape.restoring.exactOptional(),
  strategy: policySchema.shape.strategy.exactOptional(),
  /** lastModifiedDate by parameter key, of what it was decided by: a later date is a parameter written again. */
  parameters: z.record(z.string(), instant).exactOptional(),
  /** What of the canary can never be put back, in words; the first few. */
  neverPutBack: z.array(z.string()).exactOptional(),
  /** That its canary could not be put back: no further try is made by this execution. */
  canaryLeft: z.boolean().exactOptional(),
  /** Where a success goes on if the last look before it is written down does not find it. */
  unlessCompliant: rollingSchema.exactOptional(),
});
export type Concluding = z.infer<typeof concludingSchema>;

/** An end that is decided and comes once the canary has its options of before again. */
export const puttingBackSchema = concludingSchema.extend({
  next: z.literal('put-back-and-end'),
  /** Seconds. */
  lookAgainIn: z.int().min(0),
  putBackSince: instant,
  waitsFor: z.string(),
});
export type PuttingBack = z.infer<typeof puttingBackSchema>;

export const stateSchema = z.discriminatedUnion('next', [
  rollingSchema,
  awaitingSchema,
  endWaitSchema,
  puttingBackSchema,
  concludingSchema,
]);
/** What a step of a rollout leads to. */
export type Next = Rolling | PuttingBack | Concluding;

export type State = Rolling | Awaiting | EndWait | PuttingBack | Concluding;

/** How a task is invoked: the execution's own name and start come from Step Functions' context object. */
export const taskEvent = <S extends z.ZodType>(state: S) =>
  z.strictObject({ execution: z.string(), startedAt: z.iso.datetime(), state });

/** The input of an execution, and of Plan. */
export const executionInputSchema = z.strictObject({ rack: z.string().min(1) });

/** The first few names and how many more, so that neither payload nor reason grows with the fleet. */
export function few(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${String(names.length - most)} more` : shown;
}

/** What Conclude needs of a rollout that ends. */
export function conclude(state: Rolling, outcome: Concluding['outcome'], reason: string): Concluding {
  const {
    schemaVersion,
    rack,
    execution,
    startedAt,
    looks,
    generation,
    target,
    restoring,
    compliantAt,
    counts,
  } = state;
  return {
    schemaVersion,
    rack,
    execution,
    startedAt,
    looks,
    next: 'conclude',
    outcome,
    reason,
    generation,
    target,
    restoring,
    strategy: state.policy.strategy,
    ...(compliantAt !== undefined && { compliantAt }),
    ...(counts !== undefined && { counts }),
    ...(outcome === 'Succeeded' && { unlessCompliant: state }),
  };
}

/** An end that comes once the canary is as it was before. */
export const putBackAndEnd = (ending: Concluding, now: Date): PuttingBack => ({
  ...ending,
  next: 'put-back-and-end',
  lookAgainIn: 0,
  putBackSince: now.toISOString(),
  waitsFor: 'the canary to have its options of before again',
});
