/** What people are told when an execution has ended: the detail of its event on EventBridge. */
import { z } from 'zod';
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
