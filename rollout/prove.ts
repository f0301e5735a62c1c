/** What an end leaves for people: the report, its page, the notice and the Event. */
import { createHash } from 'node:crypto';
import { readJournal } from './journal.ts';
import { reportKey } from './naming.ts';
import { noticeType, type NoticeDetail } from './notice.ts';
import type { Ports, Registration, StoredParameter } from './ports.ts';
import { authoredKeys, makeReport, type Report } from './report.ts';
import { reportHtml } from './report-html.ts';
import type { Concluding } from './state.ts';
import type { Tidied } from './tidy.ts';

type ProvePorts = Pick<Ports, 'clock' | 'parameters' | 'reports' | 'notices'>;

/** Where a report is kept, and its SHA-256 in hexadecimal. */
interface Kept {
  key: string;
  sha256: string;
}

interface Proved {
  ending: Concluding;
  /** Absent where the rack is not registered. */
  registration: Registration | undefined;
  parameters: readonly StoredParameter[];
  tidied: Tidied;
}

/**
 * Writes the report and tells it. The page comes last: where it is there, an earlier try has told the report beside it,
 * which stays as it is. One that died in between is told again rather than never.
 */
export async function proveAndTell(ports: ProvePorts, proved: Proved): Promise<Kept> {
  const name = reportKey(proved.ending.rack, proved.ending.execution, proved.ending.startedAt);
  const [key, page] = [`${name}.json`, `${name}.html`];
  const told = (await ports.reports.get(page)) === undefined ? undefined : await ports.reports.get(key);
  if (told !== undefined) return { key, sha256: sha256(told) };
  const report = await reportOf(ports, proved);
  const body = JSON.stringify(report, null, 2);
  await ports.reports.put(key, body, 'application/json');
  const kept = { key, sha256: sha256(body) };
  await tell(ports, proved, kept);
  await ports.reports.put(page, reportHtml(report), 'text/html');
  return kept;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function reportOf(
  ports: ProvePorts,
  { ending, registration, parameters, tidied }: Proved,
): Promise<Report> {
  const { ground, fleet, held } = tidied;
  const histories = await Promise.all(
    authoredKeys(parameters).map(
      async (key) =>
        [key, (await ports.parameters.history(ending.rack, key)).at(-1)?.lastModifiedUser] as const,
    ),
  );
  return makeReport({
    ending,
    cluster: registration?.cluster ?? null,
    parameters,
    users: new Map(histories),
    entries: await readJournal(ports, ending),
    ...(ground && { nodeClass: ground.nodeClass }),
    ...(fleet && { fleet }),
    readAt: ports.clock.now().toISOString(),
    blockers: held,
  });
}

async function tell(
  ports: ProvePorts,
  { ending, registration, tidied: { ground } }: Proved,
  report: Kept,
): Promise<void> {
  const { rack, execution, outcome, reason, generation, counts } = ending;
  // Whoever took over tells what becomes of the rack.
  if (outcome === 'Superseded') return;
  if (ground !== undefined) {
    await ground.cluster.emit({
      type: outcome === 'Succeeded' || outcome === 'Withdrawn' ? 'Normal' : 'Warning',
      reason: `ImdsRollout${outcome}`,
      message: `${execution}: ${reason}`,
      regarding: {
        kind: 'EC2NodeClass',
        name: ground.nodeClass.metadata.name,
        uid: ground.nodeClass.metadata.uid,
      },
    });
  }
  const detail: NoticeDetail = {
    schemaVersion: 1,
    rack,
    cluster: registration?.cluster ?? null,
    execution,
    outcome,
    reason,
    generation: generation ?? null,
    counts: counts ?? null,
    report,
  };
  await ports.notices.send({ type: noticeType(outcome), detail });
}
