/** The end of a rollout: the table applied, what it came to recorded, told and proved. */
import { decide } from './desired.ts';
import { ForbiddenError, TransientError } from './errors.ts';
import { readGround, registrationOf } from './ground.ts';
import { leftInWords } from './left-behind.ts';
import { classOptions, mismatches } from './options.ts';
import type { Ports, Registration, StoredParameter } from './ports.ts';
import { lastPatchOf, type Outcome, type RolloutRecord } from './record.ts';
import { proveAndTell } from './prove.ts';
import { refusalHash } from './refusals.ts';
import { remembered } from './remembered.ts';
import { markedNodes } from './put-back.ts';
import { few, putBackAndEnd, type Concluding, type Next } from './state.ts';
import { isToBeReplaced, verdictOf } from './table.ts';
import { giveBack, tidy, UNTOUCHED, type Tidied, type TidyPorts } from './tidy.ts';
import { endTurn, findHolder } from './turn.ts';

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
export async function closeRollout(
  ports: ClosePorts,
  ending: Concluding,
  // What cleans up after an execution that was stopped has no workflow to put a canary back with.
  { mayPutBack }: { mayPutBack: boolean } = { mayPutBack: false },
): Promise<Next> {
  const { registration, others } = await registrationOf(ports, ending.rack);
  const record = await ports.records.read(ending.rack);
  if (record.last?.execution === ending.execution) {
    await releaseTurn(ports, registration, others, ending.execution);
    return { ...ending, outcome: record.last.outcome, reason: record.last.reason };
  }
  const scope = WRITES[ending.outcome];
  const canary = scope === 'all' ? await canaryLeft(ports, ending, registration, others, record) : 'unknown';
  if (canary === 'marked' && mayPutBack && ending.canaryLeft !== true)
    return putBackAndEnd(ending, ports.clock.now());
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
  const refused = refusedMeanwhile(ending, stored);
  const left = ending.outcome === 'Succeeded' ? await leftInWords(tidied.ground, record) : '';
  const reason = withNames(`${withNotices(ending, stored)}${left}${refused?.said ?? ''}`, tidied);
  const named: Concluding = { ...ending, reason };
  const report = await proveAndTell(ports, { ending: named, registration, parameters: stored, tidied });
  if (scope === 'reportOnly') {
    // Its turn is over: the Lease of one that ended would keep others' endings from the record.
    await releaseTurn(ports, registration, others, ending.execution);
    return named;
  }
  if (registration !== undefined && (await isFree(ports, registration, others, ending))) {
    await ports.records.write(
      ending.rack,
      // As it is now: a rollout that began meanwhile has written its own into it.
      remembered(await ports.records.read(ending.rack), {
        ending: named,
        stored,
        tidied,
        report,
        now: ports.clock.now(),
        touched: scope === 'all',
        isCanaryOver: canary === 'none',
        ...(refused && { refused: refused.hash }),
      }),
    );
    await releaseTurn(ports, registration, others, ending.execution);
  }
  return named;
}

/** Whether no other rollout has the rack: while one has, whatever ended, the record is its own to write, and what it comes to counts. */
async function isFree(
  ports: ClosePorts,
  registration: Registration,
  others: readonly Registration[],
  { execution }: Concluding,
): Promise<boolean> {
  const read = await readGroundOrNothing(ports, registration, others);
  if (read?.kind !== 'found') return true;
  const holder = await findHolder(read.ground.cluster, read.ground.nodeClass.metadata.name);
  return holder === undefined || holder.execution === execution;
}

/** Whether nodes carry marks of a canary. Throws what reading them throws, but for a failure, which is one anyway. */
async function canaryLeft(
  ports: ClosePorts,
  { outcome }: Concluding,
  registration: Registration | undefined,
  others: readonly Registration[],
  { canary }: RolloutRecord,
): Promise<'none' | 'marked' | 'unknown'> {
  if (canary === undefined) return 'none';
  if (registration === undefined) return 'unknown';
  try {
    const read = await readGround(ports, registration, others);
    const marked = await markedNodes(read.kind === 'gone' ? read.cluster : read.ground.cluster, registration);
    return marked.length > 0 ? 'marked' : 'none';
  } catch (error) {
    const isUnreachable = error instanceof TransientError || error instanceof ForbiddenError;
    if (outcome === 'Failed' && isUnreachable) return 'unknown';
    throw error;
  }
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

/** What is asked by now and cannot be accepted: the rollout went on without it, and reconcile does not tell it again. */
function refusedMeanwhile(
  { outcome }: Concluding,
  stored: readonly StoredParameter[],
): { said: string; hash: string } | undefined {
  const decision = decide(stored, true);
  if (decision.kind !== 'refused' || WRITES[outcome] !== 'all') return undefined;
  const why = decision.refusals.join('; ');
  return { said: `; what the parameters ask by now is refused: ${why}`, hash: refusalHash(why) };
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
