/**
 * What people are told: that an execution has ended, that one waits for their approval, that somebody gave it. Each is the
 * detail of an event on EventBridge.
 */
import { z } from 'zod';
import { questionSchema } from './approval.ts';
import { outcomes } from './record.ts';
import { countsSchema } from './state.ts';

/** A newer execution has the rack: there is nothing that anybody would have to know. */
const told = z.enum(outcomes).exclude(['Superseded']);

export const noticeSchema = z.strictObject({
  schemaVersion: z.literal(1).describe('Rises with whatever is added, changed or taken away'),
  rack: z.string(),
  cluster: z.string().nullable().describe('null where the rack is not registered'),
  execution: z.string().describe("The execution's name"),
  outcome: told,
  reason: z.string().describe('In words, with the names concerned'),
  generation: z
    .string()
    .nullable()
    .describe('Hash of class, owned options and desired values; null where nothing was planned'),
  counts: countsSchema.nullable().describe('As of the last look; null where there was none'),
  report: z
    .strictObject({
      key: z.string().describe('In the bucket of reports'),
      sha256: z.string().describe('Of the report, in hexadecimal'),
    })
    .describe('The evidence'),
});
export type NoticeDetail = z.infer<typeof noticeSchema>;

/** The detail-type of the event. */
export const noticeType = (outcome: NoticeDetail['outcome']): string => `IMDS Rollout ${outcome}`;

const { changes, looser, strategy, owners } = questionSchema.shape;

export const awaitedNoticeSchema = z.strictObject({
  schemaVersion: z.literal(1),
  awaits: z.literal('approval'),
  rack: z.string(),
  cluster: z.string().nullable(),
  execution: z.string(),
  generation: z.string(),
  hash: z.string().describe('What an approval has to name'),
  class: z.string().describe('The EC2NodeClass'),
  changes: changes.describe('Each owned option: what the class says, and what it is to say'),
  looser: looser.describe('The options that become looser, on the class or on an instance that lives'),
  strategy,
  owners: owners.describe('Who else manages the options of the class'),
  until: z.iso.datetime().describe('The rollout ends Expired then'),
  reason: z.string().describe('In words: the change, and why a person is asked'),
  command: z.string().describe('What to type'),
});
export type AwaitedNoticeDetail = z.infer<typeof awaitedNoticeSchema>;

export const approvedNoticeSchema = z.strictObject({
  schemaVersion: z.literal(1),
  approved: z.string().describe('The hash'),
  rack: z.string(),
  execution: z.string(),
  generation: z.string(),
  by: z.string().describe('The identity that STS gave'),
  reason: z.string(),
});
export type ApprovedNoticeDetail = z.infer<typeof approvedNoticeSchema>;

/** Of a rollout that waits for a person. */
export const AWAITED = 'IMDS Rollout Approval Awaited';
export const APPROVED = 'IMDS Rollout Approved';
