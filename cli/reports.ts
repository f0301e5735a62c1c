/** Reports of rollouts: read from the bucket, written to a folder as JSON and as a page. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reportHtml } from '../rollout/report-html.ts';
import { reportSchema, type Report } from '../rollout/report.ts';
import type { Reports } from '../rollout/ports.ts';
import { CommandFailure } from './failure.ts';
import { fileTrouble } from './file-trouble.ts';

/** `<rack>/<yyyy>/<mm>/<dd>/<execution>.json`; what steps wrote on the way lies deeper. */
const reportKey = /^[^/]+\/\d{4}\/\d\d\/\d\d\/[^/]+\.json$/;

/** Every report of the rack, by day and name. */
export async function readReports(reports: Reports, rack: string): Promise<Report[]> {
  const keys = (await reports.list(`${rack}/`)).filter((key) => reportKey.test(key));
  const bodies = await Promise.all(keys.map(async (key) => ({ key, body: await reports.get(key) })));
  return bodies.flatMap(({ key, body }) => (body === undefined ? [] : [parseReport(key, body)]));
}

export interface Kept {
  key: string;
  /** As it is stored, byte for byte. */
  body: string;
  report: Report;
}

const DECISIVE_OF = 20;

/**
 * The report of an execution; without one, the newest that decided something, or the newest. Read from the newest
 * back, since an account's bucket has years of them.
 */
export async function findReport(
  reports: Reports,
  rack: string,
  execution: string | undefined,
): Promise<Kept | undefined> {
  const keys = (await reports.list(`${rack}/`)).filter((key) => reportKey.test(key)).reverse();
  const named = keys.filter((key) => execution === undefined || key.endsWith(`/${execution}.json`));
  let newest: Kept | undefined;
  for (const key of named.slice(0, DECISIVE_OF)) {
    const body = await reports.get(key);
    if (body === undefined) continue;
    const kept: Kept = { key, body, report: parseReport(key, body) };
    const { outcome } = kept.report;
    if (execution !== undefined || (outcome !== 'NothingToDo' && outcome !== 'Superseded')) return kept;
    newest ??= kept;
  }
  return newest;
}

/** The executions of which there is a report, the newest first. */
export const reported = async (reports: Reports, rack: string): Promise<string[]> =>
  (await reports.list(`${rack}/`))
    .filter((key) => reportKey.test(key))
    .map((key) => key.slice(key.lastIndexOf('/') + 1, -'.json'.length))
    .reverse();

/** Throws a CommandFailure for what this version does not read. */
export function parseReport(key: string, body: string): Report {
  const parsed = reportSchema.safeParse(JSON.parse(body));
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new CommandFailure(`the report ${key} is not one that this version reads (${where})`);
}

/** Writes both forms; returns the path of the page. Throws a CommandFailure where the folder cannot be written. */
export function writeReport(folder: string, report: Report): string {
  const path = join(folder, report.execution);
  try {
    makeFolder(folder);
    writeFileSync(`${path}.json`, `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(`${path}.html`, reportHtml(report));
  } catch (error) {
    throw new CommandFailure(`cannot write the report to ${folder}: ${fileTrouble(error)}`);
  }
  return `${path}.html`;
}

/** Level by level: Node's own way of doing it never ends where the file system takes no folders, as below /proc. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder);
}
