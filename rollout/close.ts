/** The end of a rollout: the table applied, what it came to recorded, told and proved. */
import { createHash } from 'node:crypto';
import { waitsFor } from './blockers.ts';
import { selectorOf } from './builds.ts';
import { decide } from './desired.ts';
import { ForbiddenError, TransientError } from './errors.ts';
import { readFleet, type Fleet } from './fleet.ts';
import { readGround, registrationOf, type Ground } from './ground.ts';
import { writes } from './guard.ts';
import { handBack } from './hand-back.ts';
import { NOTHING } from './hold.ts';
import { readJournal, writeJournal, type Entry } from './journal.ts';
import { duePatches, keep } from './keep.ts';
import { reportKey } from './naming.ts';
import { classOptions, mismatches } from './options.ts';
import { isKey } from './parameters.ts';
import { phaseOf } from './phase.ts';
import { datesOf } from './plan.ts';
import type { Ports, Registration, StoredParameter } from './ports.ts';
import { REASON_LENGTH, type Options, type Outcome, type RolloutRecord } from './record.ts';
import { authoredKeys, makeReport, type Report } from './report.ts';
import { few, type Concluding, type Rolling } from './state.ts';
import { isToBeReplaced, table, verdictOf, type Wanted } from './table.ts';
import { endTurn, holderOf, readLease } from './turn.ts';

export type ClosePorts = Pick<
  Ports,
  'clock' | 'parameters' | 'records' | 'instances' | 'clusters' | 'reports' | 'notices'
>;

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

/** How long a Lambda of an execution may outlive it: the longest function time-out. */
export const LONGEST_FUNCTION_MS = 120_000;

interface Tidied {
  ground?: Ground;
  fleet?: Fleet;
  entries: Entry[];
  /** Nodes that are still held, with what they wait for. */
  held: { node: string; why: string }[];
  /** True where a whole look found what `held` says. */
  known: boolean;
}

const UNTOUCHED: Tidied = { entries: [], held: [], known: false };

/**
 * Ends a rollout. Done twice it writes nothing the second time. A success that the last look does not find goes on
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
      waitsFor: 'an instance is no longer known to be right',
    };
  }
  await writeJournal(ports, ending, 'conclude', tidied.entries);
  const named: Concluding = { ...ending, reason: withNames(ending.reason, tidied) };
  const stored = await ports.parameters.list(ending.rack);
  const report = await writeReport(ports, named, registration, stored, tidied);
  if (scope === 'reportOnly') return named;
  await tell(ports, named, registration, tidied, report);
  if (registration !== undefined) {
    await ports.records.write(
      ending.rack,
      remembered(record, named, stored, tidied, report, ports.clock.now()),
    );
    await releaseTurn(ports, registration, others, ending.execution);
  }
  return named;
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

/** Applies the table one last time, for as much as is ours to apply. */
async function tidy(
  ports: ClosePorts,
  ending: Concluding,
  registration: Registration,
  others: readonly Registration[],
  record: RolloutRecord,
): Promise<Tidied> {
  try {
    const read = await readGround(ports, registration, others);
    if (read.kind !== 'found') return UNTOUCHED;
    const { ground } = read;
    const holder = holderOf(await readLease(ground.cluster, ground.nodeClass.metadata.name));
    // Somebody else's rollout has the nodes now: their holds are its own.
    if (holder !== undefined && holder.execution !== ending.execution) return { ...UNTOUCHED, ground };
    return await tidyGround(ports, ending, ground, record);
  } catch (error) {
    if (ending.outcome === 'Failed' && error instanceof TransientError)
      return { ...UNTOUCHED, held: await heldByEvidence(ports, ending) };
    throw error;
  }
}

async function tidyGround(
  ports: ClosePorts,
  ending: Concluding,
  ground: Ground,
  record: RolloutRecord,
): Promise<Tidied> {
  const decision = decide(await ports.parameters.list(ending.rack), true);
  const isSelected = selectorOf(decision.kind === 'asks' ? decision.policy : {});
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, isSelected);
  const now = ports.clock.now();
  const wanted = wantedAtEnd(ending, fleet, ground, record, now);
  const { tryPatch } = writes(ground, async () => {
    const holder = holderOf(await readLease(ground.cluster, ground.nodeClass.metadata.name));
    if (holder !== undefined && holder.execution !== ending.execution) {
      throw new TransientError(`${holder.execution} took the Lease while ${ending.execution} was ending`);
    }
  });
  const kept = await keep(ports, { tryPatch }, duePatches(wanted, ending.execution, now));
  if (ending.outcome === 'Succeeded' && (ending.restoring?.length ?? 0) > 0) {
    await handBack(
      ground,
      ending.restoring ?? [],
      Object.keys(ending.target ?? {}).length > (ending.restoring?.length ?? 0),
    );
  }
  const [events, budgets] = await Promise.all([
    ground.cluster.list('Event'),
    ground.cluster.list('PodDisruptionBudget'),
  ]);
  const held = wanted
    .filter(({ want }) => want.protect || want.cordon)
    .map(({ node }) => ({ node: node.name, why: waitsFor(node, { events, budgets }, now) }));
  return { ground, fleet, entries: kept.entries, held, known: kept.left === 0 };
}

/** The table as it is to stay when the rollout is over; strategy karpenter and a withdrawn ask hold nothing. */
export function wantedAtEnd(
  { outcome, target, strategy }: Pick<Concluding, 'outcome' | 'target' | 'strategy'>,
  fleet: Fleet,
  { nodeClass }: Pick<Ground, 'nodeClass'>,
  record: RolloutRecord,
  now: Date,
): Wanted[] {
  if (outcome === 'Withdrawn' || strategy === 'karpenter') {
    return fleet.nodes.map((node) => ({ node, want: NOTHING, why: 'nothing is asked of it any more' }));
  }
  const phase = phaseOf(fleet, record, now);
  const patchedAt = record.patchedAt === undefined ? undefined : new Date(record.patchedAt);
  return table({ fleet, target: judgedTarget(outcome, target ?? {}, nodeClass), phase, patchedAt, now });
}

/** Where the class does not say what was asked for, an instance is not wrong: only drift makes it leave. */
function judgedTarget(outcome: Outcome, target: Options, nodeClass: Ground['nodeClass']): Options {
  return outcome === 'RolledBack' || mismatches(target, classOptions(nodeClass)).length > 0 ? {} : target;
}

function isStillCompliant(ending: Concluding, { fleet }: Tidied): boolean {
  if (fleet?.instancesKnown !== true) return false;
  const patchedAt = ending.unlessCompliant?.patchedAt;
  return fleet.nodes
    .filter(({ instance }) => instance?.state !== 'shutting-down')
    .map((node) =>
      verdictOf(node, ending.target ?? {}, patchedAt === undefined ? undefined : new Date(patchedAt)),
    )
    .every((verdict) => verdict !== 'wrong' && verdict !== 'unknown');
}

/** What the execution's own evidence says is held, where the cluster does not answer. */
async function heldByEvidence(ports: ClosePorts, ending: Concluding): Promise<Tidied['held']> {
  const last = new Map<string, Extract<Entry, { what: 'hold' }>>();
  for (const entry of await readJournal(ports, ending))
    if (entry.what === 'hold') last.set(entry.node, entry);
  return [...last.values()]
    .filter((entry) => entry.protected || entry.cordoned)
    .map(({ node, why }) => ({ node, why: `${why}, as far as is known: the cluster did not answer` }));
}

function withNames(reason: string, { held, fleet }: Tidied): string {
  if (held.length === 0) return reason;
  const right = new Set(
    (fleet?.nodes ?? []).filter((node) => isToBeReplaced(node, undefined)).map(({ name }) => name),
  );
  const drifted = held.every(({ node }) => right.has(node)) ? 'waiting to be replaced' : 'held';
  return `${reason}; ${drifted}: ${few(held.map(({ node, why }) => `${node} (waits for ${why})`))}`;
}

async function writeReport(
  ports: ClosePorts,
  ending: Concluding,
  registration: Registration | undefined,
  parameters: readonly StoredParameter[],
  { fleet, held }: Tidied,
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
    ...(fleet && { fleet }),
    readAt: ports.clock.now().toISOString(),
    blockers: held,
  });
  const body = JSON.stringify(report, null, 2);
  const key = `${reportKey(ending.rack, ending.execution, ending.startedAt)}.json`;
  await ports.reports.put(key, body, 'application/json');
  return { key, sha256: createHash('sha256').update(body).digest('hex') };
}

async function tell(
  ports: ClosePorts,
  ending: Concluding,
  registration: Registration | undefined,
  { ground, known }: Tidied,
  report: { key: string; sha256: string },
): Promise<void> {
  const { rack, execution, outcome, reason, generation, counts } = ending;
  if (ground !== undefined && known) {
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
  await ports.notices.send({
    type: `IMDS Rollout ${outcome}`,
    detail: {
      schemaVersion: 1,
      rack,
      cluster: registration?.cluster ?? null,
      execution,
      outcome,
      reason,
      generation: generation ?? null,
      counts: counts ?? null,
      report,
    },
  });
}

function remembered(
  record: RolloutRecord,
  ending: Concluding,
  stored: readonly StoredParameter[],
  { held, known }: Tidied,
  report: { key: string; sha256: string },
  now: Date,
): RolloutRecord {
  const { patchedAt, hashBefore, prior, takingBack, baseline, ...rest } = record;
  const over = ending.outcome === 'Succeeded' || ending.outcome === 'RolledBack';
  const underway = {
    ...(patchedAt !== undefined && { patchedAt }),
    ...(hashBefore !== undefined && { hashBefore }),
    ...(prior !== undefined && { prior }),
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
      parameters: datesOf(stored.filter(({ key }) => isKey(key))),
      report,
    },
  };
}
