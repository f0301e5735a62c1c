/** The result of a run, key by key: what `simulate --json` prints. Keys are fixed; more may be added. */
import { z } from 'zod';
import { outcomes } from '../../rollout/record.ts';
import { commandNames } from '../scenario/names.ts';

const instant = z.iso.datetime();
const httpTokens = z.enum(['optional', 'required']);

const instanceOptions = z
  .strictObject({
    httpTokens,
    httpPutResponseHopLimit: z.int(),
    state: z.enum(['pending', 'applied']),
  })
  .nullable();

const rolloutResult = z.strictObject({
  execution: z.string().describe("The execution's name"),
  generation: z
    .string()
    .nullable()
    .describe('Hash of class, owned options and desired values; null before it planned'),
  outcome: z.enum(outcomes).nullable().describe('null while it runs; `Aborted` where it was stopped by hand'),
  reason: z.string().nullable().describe('In words, with the names concerned; null only while it runs'),
  startedAt: instant,
  compliantAt: instant.nullable().describe('When every running build instance was right'),
  endedAt: instant.nullable(),
  transitions: z.int().describe('Billed state transitions, each retry one'),
  historyEvents: z.int().describe('Events in the execution history (the limit is 25,000)'),
  maxPayloadBytes: z.int().describe('The largest input or output of a state (the limit is 262,144)'),
});

const instanceResult = z.strictObject({
  id: z.string(),
  node: z.string().nullable().describe('null where it never registered'),
  pool: z.string().nullable(),
  launchedAt: instant,
  atStart: instanceOptions.describe('Metadata options at the start; null where it did not exist'),
  atEnd: instanceOptions.describe('Metadata options at the end; null where it is gone'),
  modifiedAt: instant.nullable().describe('The last live modification, by whomever'),
  terminatedAt: instant.nullable(),
  endedBy: z.enum(['drift', 'emptiness', 'expiry', 'interruption', 'repair', 'hand']).nullable(),
});

const buildResult = z.strictObject({
  name: z.string(),
  node: z.string().nullable().describe('null where it never got one'),
  outcome: z.enum(['finished', 'evicted', 'brokenByImds', 'givenUp', 'running']),
  waitedSeconds: z.number(),
  changedUnder: z.boolean().describe("Its node's options were changed live while it ran"),
  why: z.string().exactOptional().describe('Why it was evicted or broke'),
});

const heldNode = z.strictObject({
  node: z.string(),
  cordoned: z.boolean(),
  protected: z.boolean(),
  why: z.string().describe('What it waits for'),
});

const classResult = z.strictObject({
  metadataOptions: z.record(z.string(), z.union([z.string(), z.number()])),
  owners: z.array(z.strictObject({ manager: z.string(), fields: z.array(z.string()) })),
  annotations: z.record(z.string(), z.string()).describe('Those of this service'),
});

/** See the contract of the command `simulate`. */
export const resultSchema = z.strictObject({
  outcome: z
    .enum(outcomes)
    .nullable()
    .describe(
      'Of the last execution that ended neither NothingToDo nor Superseded, else of the last; null if none started',
    ),
  reason: z.string().nullable(),
  rollouts: z.array(rolloutResult).describe('Every execution, by start'),
  instances: z.array(instanceResult).describe('Every instance that there ever was, by launch'),
  builds: z.array(buildResult),
  buildsLost: z.int().describe('How many Builds are `evicted` or `brokenByImds`'),
  held: z.array(heldNode).describe('What is held at the end'),
  classes: z.record(z.string(), classResult).describe('EC2NodeClasses at the end, by name'),
  parameters: z.record(z.string(), z.string()).describe('At the end'),
  notices: z.array(
    z.strictObject({ at: instant, type: z.string(), detail: z.record(z.string(), z.unknown()) }),
  ),
  calls: z
    .record(z.string(), z.strictObject({ calls: z.int(), throttled: z.int(), errors: z.int() }))
    .describe('By API'),
  violations: z.array(z.strictObject({ invariant: z.string(), at: instant, what: z.string() })),
  undone: z
    .array(z.strictObject({ at: instant, command: z.enum(commandNames), why: z.string() }))
    .describe('Commands of the timeline that were refused or failed'),
  endedBecause: z
    .enum(['runFor', 'quiet', 'asked'])
    .describe(
      'runFor was reached; everything was played and nothing has changed for 30 minutes; or no more of it was asked for',
    ),
  virtualSeconds: z.number(),
  seed: z.int(),
});

export type RunResult = z.infer<typeof resultSchema>;
export type RolloutResult = z.infer<typeof rolloutResult>;
export type Violation = RunResult['violations'][number];
export type UndoneCommand = RunResult['undone'][number];
