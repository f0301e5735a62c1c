/** Reports of rollouts: read from the bucket, written to a folder as JSON and as a page. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportHtml } from '../rollout/report-html.ts';
import { reportSchema, type Report } from '../rollout/report.ts';
import type { Reports } from '../rollout/ports.ts';
import { CommandFailure } from './failure.ts';

/** `<rack>/<yyyy>/<mm>/<dd>/<execution>.json`; what steps wrote on the way lies deeper. */
const reportKey = /^[^/]+\/\d{4}\/\d\d\/\d\d\/[^/]+\.json$/;

/** Every report of the rack, by day and name. */
export async function readReports(reports: Reports, rack: string): Promise<Report[]> {
  const keys = (await reports.list(`${rack}/`)).filter((key) => reportKey.test(key));
  const bodies = await Promise.all(keys.map(async (key) => ({ key, body: await reports.get(key) })));
  return bodies.flatMap(({ key, body }) => (body === undefined ? [] : [parseReport(key, body)]));
}

function parseReport(key: string, body: string): Report {
  const parsed = reportSchema.safeParse(JSON.parse(body));
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new CommandFailure(`the report ${key} is not one that this version reads (${where})`);
}

/** Writes both forms; returns the path of the page. */
export function writeReport(folder: string, report: Report): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, report.execution);
  writeFileSync(`${path}.json`, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(`${path}.html`, reportHtml(report));
  return `${path}.html`;
}
