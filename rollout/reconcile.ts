/** Reconcile: what events lost, what a stopped execution left, and the table for whatever is still held. */
import { selectorOf } from './builds.ts';
import { closeRollout, type ClosePorts } from './close.ts';
import { decide, type Decision } from './desired.ts';
import { readFleet } from './fleet.ts';
import { readGround, registrationOf, type Ground } from './ground.ts';
import { writes } from './guard.ts';
import { duePatches, keep } from './keep.ts';
import { measureFleet, measureRunning, type Measured } from './measure.ts';
import { executionsOf, reportKey } from './naming.ts';
import { datesOf, namesHash, propose, type PlanPorts } from './plan.ts';
import type { Registration, StoredParameter } from './ports.ts';
import { purposeOf } from './purpose.ts';
import type { Outcome, RolloutRecord } from './record.ts';
import { shallStart, type Remembered } from './shall-start.ts';
import { markedNodes } from './put-back.ts';
import { startRollout } from './start.ts';
import { few } from './state.ts';
import { assertFree, releaseOwn, wantedAtEnd } from './tidy.ts';
import { findHolder, findLease, holderOf, LONGEST_FUNCTION_MS, passLease, TurnLost } from './turn.ts';

export type ReconcilePorts = ClosePorts & PlanPorts;

/** The schedule's period, and how often a rack without holds is visited. */
const PERIOD_MS = 2 * 60_000;
const QUIET_PERIOD_MS = 15 * 60_000;

/** A visit belongs to no execution, so it has no page of evidence: its log line says what it did. */
const NO_EVIDENCE = (): Promise<void> => Promise.resolve();

export interface Visit {
  rack: string;
  did: 'nothing' | 'table' | 'started' | 'ended';
  what: string;
  measured: Measured;
}

/** The racks to be visited now: those whose record says that holds may exist, each time; others every 15 minutes. */
export async function racksDue(ports: ReconcilePorts): Promise<Registration[]> {
  const now = ports.clock.now().getTime();
  const isQuietTurn = Math.floor(now / QUIET_PERIOD_MS) !== Math.floor((now - PERIOD_MS) / QUIET_PERIOD_MS);
  const due: Registration[] = [];
  for (const registration of await ports.records.registrations()) {
    const record = await ports.records.read(registration.rack);
    // What a rollout waited for in vain may come at any time, and protects nothing until it is seen.
    const awaits = record.awaitedSince !== undefined;
    if (record.holdsMayExist || awaits || isQuietTurn) due.push(registration);
  }
  return due;
}

export async function reconcileRack(ports: ReconcilePorts, { rack }: Registration): Promise<Visit> {
  try {
    return await visitRack(ports, rack);
  } catch (error) {
    // A rollout that begins while its rack is visited has the rack from then on.
    if (error instanceof TurnLost) return { rack, did: 'nothing', what: error.message, measured: {} };
    throw error;
  }
}

async function visitRack(ports: ReconcilePorts, rack: string): Promise<Visit> {
  const stored = await ports.parameters.list(rack);
  const record = await ports.records.read(rack);
  const approval = await ports.approvals.read(rack);
  const decision = decide(stored, Object.keys(record.baseline).length > 0);
  const mayBeLeft = record.holdsMayExist || approval.awaiting !== undefined;
  if (!mayBeLeft && (decision.kind === 'inert' || decision.kind === 'asksNothing')) {
    return { rack, did: 'nothing', what: 'asks for nothing', measured: {} };
  }
  const { registration, others } = await registrationOf(ports, rack);
  const read = registration && (await readGround(ports, registration, others));
  const running = executionsOf(rack, await ports.workflow.running());
  // One that waits for a person holds nothing and looks at nothing: what is held, and what is asked, is looked after here.
  const waiting = running.find(({ name }) => name === approval.awaiting?.execution);
  const atIt = running.filter((each) => each !== waiting);
  if (atIt.length > 0) {
    const what = `${atIt.map(({ name }) => name).join(', ')} is at it`;
    return { rack, did: 'nothing', what, measured: measureRunning(atIt) };
  }
  if (registration && read?.kind === 'gone' && record.holdsMayExist) {
    const { entries } = await releaseOwn(ports, read.cluster, registration, undefined, NO_EVIDENCE);
    if (entries.length > 0) {
      const what = `${String(entries.length)} holds released: ${read.why}`;
      return { rack, did: 'table', what, measured: {} };
    }
  }
  const memory = { record, approval, isWaiting: waiting !== undefined };
  const marked =
    record.canary !== undefined && registration && read
      ? await markedNodes(read.kind === 'gone' ? read.cluster : read.ground.cluster, registration)
      : [];
  const left = marked.map(({ node }) => node.metadata.name);
  if (read?.kind !== 'found') return startWhereNeeded(ports, rack, memory, stored, {}, left);
  const ended = await endDeadHolder(ports, rack, read.ground);
  if (ended !== undefined) return ended;
  if (!record.holdsMayExist) return startWhereNeeded(ports, rack, memory, stored, {}, left);
  const { changed, measured } = await keepTable(ports, rack, read.ground, decision, record);
  return changed > 0
    ? { rack, did: 'table', what: `${String(changed)} holds changed`, measured }
    : startWhereNeeded(ports, rack, memory, stored, measured, left);
}

/**
 * An execution that no longer runs but still has the Lease. One that was stopped is cleaned up after; one that ended
 * by itself was superseded, and whoever was to take its turn did not: it has an outcome, and what it held is kept.
 */
async function endDeadHolder(
  ports: ReconcilePorts,
  rack: string,
  { cluster, nodeClass }: Ground,
): Promise<Visit | undefined> {
  const holder = await findHolder(cluster, nodeClass.metadata.name);
  if (holder === undefined) return undefined;
  const { status, endedAt } = (await ports.workflow.describe(holder.execution)) ?? {};
  // Started by hand under a name of its own, or not on the list yet.
  if (status === 'RUNNING') {
    const measured = { rolloutSince: holder.startedAt };
    return { rack, did: 'nothing', what: `${holder.execution} is at it`, measured };
  }
  if (status === 'SUCCEEDED') {
    await raiseEpoch(ports, rack, { cluster, nodeClass }, holder.execution);
    return { rack, did: 'ended', what: holder.execution, measured: {} };
  }
  await endStopped(ports, {
    rack,
    execution: holder.execution,
    startedAt: holder.startedAt,
    ...(endedAt !== undefined && { endedAt }),
    status: status ?? 'ABORTED',
  });
  return { rack, did: 'ended', what: holder.execution, measured: {} };
}

export interface Stopped {
  rack: string;
  execution: string;
  startedAt: string;
  endedAt?: string;
  status: string;
}

/**
 * Cleans up after an execution that ended without Conclude. The epoch of the Lease is raised first, since a Lambda of
 * it may still be writing; the record keeps saying that holds may exist until its time-out has passed.
 */
export async function endStopped(ports: ReconcilePorts, stopped: Stopped): Promise<void> {
  const { rack, execution, startedAt } = stopped;
  const { registration, others } = await registrationOf(ports, rack);
  if (registration === undefined) return;
  const record = await ports.records.read(rack);
  const read = await readGround(ports, registration, others);
  const hadTurn = read.kind === 'found' && (await raiseEpoch(ports, rack, read.ground, execution));
  // It did conclude: its Fail state is what was heard of. Where the cluster did not answer its Lease was left to it.
  const reported = await ports.reports.get(`${reportKey(rack, execution, startedAt)}.json`);
  if (reported !== undefined && (!hadTurn || stopped.status === 'FAILED')) return;
  // What was written since it ended was not decided by it, however late its end is heard of.
  const { endedAt = ports.clock.now().toISOString() } = stopped;
  const stored = (await ports.parameters.list(rack)).filter((each) => each.lastModifiedDate <= endedAt);
  // A parameter that was deleted since is written again: nothing that is stored now was decided by.
  const isAsAsked = record.asked === undefined || record.asked === namesHash(stored);
  await closeRollout(ports, { ...ending(stopped, record), parameters: isAsAsked ? datesOf(stored) : {} });
}

async function raiseEpoch(
  ports: ReconcilePorts,
  rack: string,
  { cluster, nodeClass }: Pick<Ground, 'cluster' | 'nodeClass'>,
  execution: string,
): Promise<boolean> {
  const lease = await findLease(cluster, nodeClass.metadata.name);
  if (lease === undefined || holderOf(lease)?.execution !== execution) return false;
  const now = ports.clock.now();
  await passLease(cluster, lease, now);
  const record = await ports.records.read(rack);
  await ports.records.write(rack, { ...record, holdsMayExist: true, takenOverAt: now.toISOString() });
  return true;
}

function ending({ rack, execution, startedAt, status }: Stopped, record: RolloutRecord) {
  const outcome: Outcome = status === 'ABORTED' ? 'Aborted' : 'Failed';
  const how =
    { ABORTED: 'was stopped by hand', TIMED_OUT: 'ran out of time' }[status] ?? 'ended without concluding';
  return {
    schemaVersion: 1 as const,
    rack,
    execution,
    startedAt,
    looks: 0,
    next: 'conclude' as const,
    outcome,
    reason: `the execution ${how}; the class keeps what it says`,
    ...(record.generation !== undefined && { generation: record.generation }),
    target: { ...record.baseline, ...record.ask },
  };
}

/** Keeps the table for nodes that carry our hold, and places none on others. */
async function keepTable(
  ports: ReconcilePorts,
  rack: string,
  ground: Ground,
  decision: Decision,
  record: RolloutRecord,
): Promise<{ changed: number; measured: Measured }> {
  const isSelected = selectorOf(decision.kind === 'asks' ? decision.policy : {});
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, isSelected);
  const now = ports.clock.now();
  const outcome: Outcome = decision.kind === 'inert' ? 'Withdrawn' : (record.last?.outcome ?? 'Failed');
  const target = { ...record.baseline, ...record.ask };
  const wanted = wantedAtEnd({ outcome, target }, fleet, ground, record, now).filter(
    ({ node }) => node.hold !== undefined,
  );
  const check = (): Promise<void> => assertFree(ground, undefined);
  const kept = await keep(ports, writes(ground, check), duePatches(wanted, undefined, now), NO_EVIDENCE);
  const held = fleet.nodes.some(({ hold, canary, leaving }) => (hold ?? canary) !== undefined && !leaving);
  if (!held && kept.left === 0) await forget(ports, rack, check, now);
  const released = kept.entries.flatMap((entry) =>
    entry.what === 'hold' && !entry.protected && !entry.cordoned ? [entry.node] : [],
  );
  const asked =
    decision.kind === 'asks' ? purposeOf(decision, record, ground.nodeClass.metadata.uid).target : undefined;
  return {
    changed: kept.entries.length,
    measured: measureFleet(fleet, asked, record, new Set(released)),
  };
}

/** The record stops saying that holds may exist once a whole look found none and nobody may still be writing. */
async function forget(
  ports: ReconcilePorts,
  rack: string,
  check: () => Promise<void>,
  now: Date,
): Promise<void> {
  const record = await ports.records.read(rack);
  const { takenOverAt } = record;
  const outlived =
    takenOverAt !== undefined && now.getTime() - new Date(takenOverAt).getTime() < LONGEST_FUNCTION_MS;
  if (outlived) return;
  // Read before the Lease is looked at: a rollout that begins writes its own record only after it took the Lease.
  await check();
  const { canary: _, ...rest } = record;
  await ports.records.write(rack, { ...rest, holdsMayExist: false });
}

/** Starts a rollout where something differs, unless what was decided of it still stands; else what puts a canary back. */
async function startWhereNeeded(
  ports: ReconcilePorts,
  rack: string,
  memory: Remembered,
  stored: readonly StoredParameter[],
  before: Measured,
  /** Nodes that carry the mark of a canary. */
  marked: readonly string[],
): Promise<Visit> {
  const proposal = await propose(ports, rack);
  const { fleet, purpose } = proposal;
  const measured = fleet && purpose ? measureFleet(fleet, purpose.target, memory.record) : before;
  const isDue = shallStart(memory, stored, proposal);
  if (!isDue && marked.length > 0) {
    const record = await ports.records.read(rack);
    const canary = { since: ports.clock.now().toISOString(), ...record.canary, putBack: true };
    await ports.records.write(rack, { ...record, canary });
  } else if (!isDue) {
    const what = memory.isWaiting
      ? `${memory.approval.awaiting?.execution ?? ''} waits for approval`
      : proposal.reason;
    return { rack, did: 'nothing', what, measured };
  }
  const started = await startRollout(ports, rack);
  const why = isDue ? proposal.reason : `canary ${few([...marked])} is to be put back`;
  return { rack, did: 'started', what: `${started.execution}: ${why}`, measured };
}
