/**
 * What a person is asked to approve, and when an approval still counts. Pure. The question is about the change and not
 * about the moment: nodes and Builds that come and go do not alter it.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { loosenedOptions, OPTIONS, owned, type AllOptions, type Option } from './options.ts';
import { approvedSchema, type Options, type RolloutRecord } from './record.ts';

/** How long a rollout waits for somebody: the workflow's own time-out of `Await approval`. */
export const APPROVAL_SECONDS = 7 * 24 * 3600;

/** What a hash looks like, for whoever types one. */
export const isHash = (text: string): boolean => /^[0-9a-f]{12}$/.test(text);

/** How much of a reason is kept: what a person writes into a notice, a report and the record. */
export const DECISION_REASON_LENGTH = 400;

const instant = z.iso.datetime();
const optionSchema = z.enum(OPTIONS);
const valueSchema = z.union([z.string(), z.number()]);

export const questionSchema = z.strictObject({
  /** Of everything below, but `class` and `why`: what an approval names. */
  hash: z.string(),
  generation: z.string(),
  class: z.string(),
  classUid: z.string(),
  /** Each option that the rollout owns: what the class says, and what it is to say. */
  changes: z.array(z.strictObject({ option: optionSchema, from: valueSchema, to: valueSchema })),
  /** The options that become looser, on the class or on an instance that lives now. */
  looser: z.array(optionSchema),
  strategy: z.string(),
  /** Who else manages the options: `manager: option, option`. */
  owners: z.array(z.string()),
  /** Why a person is asked, in words. */
  why: z.string(),
});
export type Question = z.infer<typeof questionSchema>;

/** What ends a wait: the result of the task that waited, which Plan then goes by. */
export const decisionSchema = z.discriminatedUnion('decision', [
  approvedSchema.extend({ decision: z.literal('approved') }),
  approvedSchema.extend({ decision: z.literal('rejected') }),
  /** By the name of a newer execution. */
  z.strictObject({ decision: z.literal('superseded'), by: z.string(), at: instant }),
]);
export type Decided = z.infer<typeof decisionSchema>;

/** What the service remembers of a rack's approvals; `approve` alone writes it. */
export const approvalSchema = z.strictObject({
  schemaVersion: z.literal(1),
  awaiting: questionSchema
    .extend({ execution: z.string(), startedAt: instant, askedAt: instant, until: instant })
    .exactOptional(),
  /** What a person last said, and of which question. */
  last: approvedSchema
    .extend({
      decision: z.enum(['approved', 'rejected']),
      execution: z.string(),
      looser: z.array(optionSchema),
    })
    .exactOptional(),
});
export type Approval = z.infer<typeof approvalSchema>;

/** Where nobody was ever asked. */
export const noApproval: Approval = { schemaVersion: 1 };

type Change = Omit<Question, 'hash' | 'generation' | 'class' | 'why'>;

/**
 * The question that a change asks. `from` is what the class says: what instances say changes with every node, and only
 * counts in which options are loosened.
 */
export function questionOf(given: {
  nodeClass: { name: string; uid: string };
  /** Of the class. */
  from: AllOptions;
  live: readonly AllOptions[];
  purpose: { target: Options; generation: string };
  policy: { strategy: string };
  owners: Readonly<Record<string, readonly string[]>>;
  why: string;
}): Question {
  const { nodeClass, from, live, purpose, policy, owners, why } = given;
  const { target, generation } = purpose;
  const looser = new Set([from, ...live].flatMap((each) => loosenedOptions(each, target)));
  const change: Change = {
    classUid: nodeClass.uid,
    changes: owned(target).map((option) => ({
      option,
      from: from[option],
      to: target[option] ?? from[option],
    })),
    looser: OPTIONS.filter((option) => looser.has(option)),
    strategy: policy.strategy,
    owners: Object.entries(owners)
      .map(([manager, fields]) => `${manager}: ${fields.toSorted().join(', ')}`)
      .sort(),
  };
  return { hash: hashOf(change), generation, class: nodeClass.name, ...change, why };
}

function hashOf({ classUid, changes, looser, strategy, owners }: Change): string {
  const values = [
    classUid,
    changes.map(({ option, from, to }) => [option, from, to]),
    looser,
    strategy,
    owners,
  ];
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 12);
}

/**
 * Whether the answer to one question answers another: it is the same change, and loosens nothing that was not asked
 * about. It may loosen less, since the instance that was stricter is gone.
 */
export const covers = (asked: Change & { hash: string }, now: Change): boolean =>
  now.looser.every((option) => asked.looser.includes(option)) &&
  hashOf({ ...now, looser: asked.looser }) === asked.hash;

/** A repair of what was approved and begun needs no new approval, until another purpose is taken up. */
export const isApprovedPurpose = (record: RolloutRecord, { generation }: { generation: string }): boolean =>
  record.approved !== undefined && record.generation === generation;

/** `httpTokens required → optional`, option by option, for people. */
export const changesInWords = ({ changes, looser }: Pick<Question, 'changes' | 'looser'>): string =>
  changes
    .map(({ option, from, to }) => {
      const way = from === to ? `${option} stays ${String(to)}` : `${option} ${String(from)} → ${String(to)}`;
      const which: Option = option;
      return looser.includes(which) ? `${way} (looser)` : way;
    })
    .join(', ');

export const approveCommand = (rack: string, hash: string): string =>
  `imds-rollout approve -r ${rack} --hash ${hash} --reason "…"`;
