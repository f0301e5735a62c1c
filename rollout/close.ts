/** The end of a rollout: the table applied, what it came to recorded, told and proved. */
import { createHash } from 'node:crypto';
import { decide } from './desired.ts';
import { ForbiddenError, TransientError } from './errors.ts';
import { readGround, registrationOf } from './ground.ts';
import { readJournal } from './journal.ts';
import { reportKey } from './naming.ts';
import { noticeType, type NoticeDetail } from './notice.ts';
import { classOptions, mismatches } from './options.ts';
import { datesOf } from './plan.ts';
import type { Ports, Registration, StoredParameter } from './ports.ts';
import { lastPatchOf, REASON_LENGTH, type Outcome, type RolloutRecord } from './record.ts';
import { authoredKeys, makeReport, type Report } from './report.ts';
import { reportHtml } from './report-html.ts';
import { few, type Concluding, type Rolling } from './state.ts';
import { isToBeReplaced, verdictOf } from './table.ts';
import { giveBack, tidy, UNTOUCHED, type Tidied, type TidyPorts } from './tidy.ts';
import { endTurn, findHolder, LONGEST_FUNCTION_MS } from './turn.ts';

export type ClosePorts = TidyPorts & Pick<Ports, 'records' | 'notices'>;

/** What each outcome may write: everything, the record and notices but no object of the cluster, or its report alone. */
const WRITES: Record<Outcome, 'all' | 'noCluster' | 'reportOnly'> = {
  Succeeded: 'all',
  Withdrawn: 'all',
  Aborted: 'all',
  RolledBack: 'all',
  Contended: 'all',
  Failed: 'all',
  NothingToDo: 'noCluster',
  Refused: 'noCluster',
  Rejected: 'noCluster',
  Expired: 'noCluster',
  Superseded: 'reportOnly',
};

/**
 * Ends a rollout. Once the outcome is on record, doing it again writes nothing. A success that the last look does not find goes on
 * as a rollout. Throws TransientError where the cluster cannot be read, except for a failure, which names from its
 * own evidence what it holds.
 */
export async function closeRollout(ports: ClosePorts, ending: Concluding): Promise<Concluding | Rolling> {
  const { registration, others } = await registrationOf(ports, ending.rack);
  const record = await ports.records.read(ending.rack);
  if (record.last?.execution === ending.execution) {
    await releaseTurn(ports, registration, others, ending.execution);
    return { ...ending, outcome: record.last.outcome, reason: record.last.reason };
  }
  const scope = WRITES[ending.outcome];
  const tidied =
    registration !== undefined && scope === 'all'
      ? await tidy(ports, ending, registration, others, record)
      : UNTOUCHED;
  if (ending.unlessCompliant !== undefined && !isStillCompliant(ending, tidied)) {
    return {
      ...ending.unlessCompliant,
      next: 'look',
      lookAgainIn: 1,
      waitsFor: 'the class or an instance is no longer known to be right',
    };
  }
  await giveBack(ending, tidied);
  const stored = await ports.parameters.list(ending.rack);
  const named: Concluding = { ...ending, reason: withNames(withNotices(ending, stored), tidied) };
  const report = await writeReport(ports, named, registration, stored, tidied);
  if (scope === 'reportOnly') {
    // Its turn is over: the Lease of one that ended would keep others' endings from the record.
    await releaseTurn(ports, registration, others, ending.execution);
    return named;
  }
  await tell(ports, named, registration, tidied, report);
  if (registration !== undefined && (scope === 'all' || (await isFree(ports, registration, others)))) {
    await ports.records.write(
      ending.rack,
      // As it is now: a rollout that began meanwhile has written its own into it.
      remembered(await ports.records.read(ending.rack), named, stored, tidied, report, ports.clock.now()),
    );
    await releaseTurn(ports, registration, others, ending.execution);
  }
  return named;
}

/** Whether no rollout has the rack: while one has, the record is its own to write, and what it comes to counts. */
async function isFree(
  ports: ClosePorts,
  registration: Registration,
  others: readonly Registration[],
): Promise<boolean> {
  const read = await readGroundOrNothing(ports, registration, others);
  if (read?.kind !== 'found') return true;
  return (await findHolder(read.ground.cluster, read.ground.nodeClass.metadata.name)) === undefined;
}

async function releaseTurn(
  ports: ClosePorts,
  registration: Registration | undefined,
  others: readonly Registration[],
  execution: string,
): Promise<void> {
  const read = registration && (await readGroundOrNothing(ports, registration, others));
  if (read?.kind !== 'found') return;
  await endTurn(read.ground.cluster, read.ground.nodeClass.metadata.name, execution, ports.clock.now());
}

async function readGroundOrNothing(
  ports: ClosePorts,
  registration: Registration,
  others: readonly Registration[],
) {
  try {
    return await readGround(ports, registration, others);
  } catch (error) {
    // What cannot be reached keeps its Lease; reconcile ends the turn of an execution that no longer runs.
    if (error instanceof TransientError || error instanceof ForbiddenError) return undefined;
    throw error;
  }
}

function isStillCompliant(ending: Concluding, { fleet }: Tidied): boolean {
  if (fleet?.instancesKnown !== true) return false;
  const patchedAt = lastPatchOf(ending.unlessCompliant ?? {});
  if (mismatches(ending.target ?? {}, classOptions(fleet.nodeClass)).length > 0) return false;
  return fleet.nodes
    .filter(({ instance }) => instance?.state !== 'shutting-down')
    .map((node) => verdictOf(node, ending.target ?? {}, patchedAt))
    .every((verdict) => verdict !== 'wrong' && verdict !== 'unknown');
}

/** A success says what does not count, and where Builds may run without what was rolled out. */
function withNotices({ outcome, reason }: Concluding, stored: readonly StoredParameter[]): string {
  if (outcome !== 'Succeeded') return reason;
  const decision = decide(stored, true);
  const notices = decision.kind === 'asks' ? decision.notices : [];
  return `${reason}${notices.map((notice) => ` (${notice})`).join('')}`;
}

function withNames(reason: string, { held, fleet }: Tidied): string {
  if (held.length === 0) return reason;
  const toBeReplaced = new Set(
    (fleet?.nodes ?? []).filter((node) => isToBeReplaced(node, undefined)).map(({ name }) => name),
  );
  const standing = held.every(({ node }) => toBeReplaced.has(node)) ? 'waiting to be replaced' : 'held';
  // Who is woken up because the cluster does not answer has no other list of them.
  const most = fleet === undefined ? 100 : 5;
  const groups = [...Map.groupBy(held, ({ why }) => why)].map(
    ([why, nodes]) =>
      `${few(
        nodes.map(({ node }) => node),
        most,
      )} (waits for ${why})`,
  );
  return `${reason}; ${standing}: ${few(groups)}`;
}

async function writeReport(
  ports: ClosePorts,
  ending: Concluding,
  registration: Registration | undefined,
  parameters: readonly StoredParameter[],
  { ground, fleet, held }: Tidied,
): Promise<{ key: string; sha256: string }> {
  const histories = await Promise.all(
    authoredKeys(parameters).map(
      async (key) =>
        [key, (await ports.parameters.history(ending.rack, key)).at(-1)?.lastModifiedUser] as const,
    ),
  );
  const report: Report = makeReport({
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
  const body = JSON.stringify(report, null, 2);
  const key = `${reportKey(ending.rack, ending.execution, ending.startedAt)}.json`;
  await ports.reports.put(key, body, 'application/json');
  await ports.reports.put(key.replace(/json$/, 'html'), reportHtml(report), 'text/html');
  return { key, sha256: createHash('sha256').update(body).digest('hex') };
}

async function tell(
  ports: ClosePorts,
  ending: Concluding,
  registration: Registration | undefined,
  { ground }: Tidied,
  report: { key: string; sha256: string },
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

/** An approval ends with its purpose: once another one is asked for, or none, coming back to it needs a person again. */
const isStillApproved = ({ generation }: RolloutRecord, ending: Concluding): boolean =>
  ending.outcome !== 'Withdrawn' && (ending.generation === undefined || ending.generation === generation);

function remembered(
  record: RolloutRecord,
  ending: Concluding,
  stored: readonly StoredParameter[],
  // The record says that holds may exist from before the first one is placed.
  { held, known = !record.holdsMayExist }: Tidied,
  report: { key: string; sha256: string },
  now: Date,
): RolloutRecord {
  const { patchedAt, lastPatchAt, hashBefore, prior, awaitedSince, takingBack, baseline, approved, ...rest } =
    record;
  const over = ending.outcome === 'Succeeded' || ending.outcome === 'RolledBack';
  const underway = {
    ...(patchedAt !== undefined && { patchedAt }),
    ...(lastPatchAt !== undefined && { lastPatchAt }),
    ...(hashBefore !== undefined && { hashBefore }),
    ...(prior !== undefined && { prior }),
    ...(awaitedSince !== undefined && { awaitedSince }),
    ...(takingBack !== undefined && { takingBack }),
  };
  const given = ending.outcome === 'Succeeded' ? (ending.restoring ?? []) : [];
  const outlived =
    record.takenOverAt !== undefined &&
    now.getTime() - new Date(record.takenOverAt).getTime() < LONGEST_FUNCTION_MS;
  const touched = WRITES[ending.outcome] === 'all';
  return {
    ...rest,
    ...(!over && underway),
    ...(approved !== undefined && isStillApproved(record, ending) && { approved }),
    baseline: Object.fromEntries(
      Object.entries(baseline).filter(([option]) => !given.some((each) => each === option)),
    ),
    holdsMayExist: touched ? !known || held.length > 0 || outlived : record.holdsMayExist,
    last: {
      outcome: ending.outcome,
      reason: ending.reason.slice(0, REASON_LENGTH),
      execution: ending.execution,
      endedAt: now.toISOString(),
      ...(ending.generation !== undefined && { generation: ending.generation }),
      parameters: ending.parameters ?? datesOf(stored),
      report,
    },
  };
}
