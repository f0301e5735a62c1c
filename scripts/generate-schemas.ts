// Writes schema/*.schema.json from the zod types that the code itself reads and writes with. With --check it writes
// nothing and ends with 1 where a committed file is not what it would write.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { z } from 'zod';

import { approvedNoticeSchema, awaitedNoticeSchema, noticeSchema } from '../rollout/notice.ts';
import { explanationSchema } from '../cli/plan/explanation.ts';
import { reportSchema } from '../rollout/report.ts';
import { resultSchema } from '../simulator/run/result.ts';
import { scenarioSchema } from '../simulator/scenario/schema.ts';

interface Published {
  file: string;
  title: string;
  schema: z.ZodType;
  /** What people write is described before defaults and transformations, what we write as it is written. */
  io: 'input' | 'output';
}

const published: Published[] = [
  { file: 'scenario', title: 'Scenario of imds-rollout simulate', schema: scenarioSchema, io: 'input' },
  { file: 'result', title: 'Result of imds-rollout simulate --json', schema: resultSchema, io: 'output' },
  { file: 'plan', title: 'Plan of imds-rollout plan --json', schema: explanationSchema, io: 'output' },
  { file: 'report', title: 'Report of a rollout', schema: reportSchema, io: 'output' },
  { file: 'notice', title: 'Detail of the events of imds-rollout', schema: noticeSchema, io: 'output' },
  {
    file: 'notice-awaited',
    title: 'Detail of the event IMDS Rollout Approval Awaited',
    schema: awaitedNoticeSchema,
    io: 'output',
  },
  {
    file: 'notice-approved',
    title: 'Detail of the event IMDS Rollout Approved',
    schema: approvedNoticeSchema,
    io: 'output',
  },
];

async function render({ file, title, schema, io }: Published, path: string): Promise<string> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io });
  const document = { $schema, $id: `urn:imds-rollout:${file}`, title, ...rest };
  return format(JSON.stringify(document), { ...(await resolveConfig(path)), filepath: path });
}

const check = process.argv.includes('--check');
for (const one of published) {
  const path = `schema/${one.file}.schema.json`;
  const text = await render(one, path);
  if (!check) {
    mkdirSync('schema', { recursive: true });
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the types say: run \`npm run docs\``);
    process.exitCode = 1;
  }
}
