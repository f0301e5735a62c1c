/** Whose turn it is to write for a class: one Lease, ordered by the start of the executions. */
import { ConflictError, NotFoundError, RolloutError } from './errors.ts';
import type { Lease } from './kubernetes.ts';
import { GENERATION_ANNOTATION, leaseName, STARTED_ANNOTATION } from './naming.ts';
import type { Clock, Cluster, Workflow } from './ports.ts';
import { refuse } from './refusals.ts';

/** How long a Lambda of an execution may outlive it: the longest function time-out. */
export const LONGEST_FUNCTION_MS = 120_000;

/** Thrown before a write by a step of a rollout whose parameters became inert: the rollout ends `Withdrawn`. */
export class AskWithdrawn extends RolloutError {
  override name = 'AskWithdrawn';
}

/** Thrown before a write by a step whose rollout lost its turn; the step ends it `Superseded`. */
export class TurnLost extends RolloutError {
  override name = 'TurnLost';
}

export interface Contender {
  execution: string;
  startedAt: string;
  generation: string;
}

interface Holder extends Contender {
  epoch: number;
}

/** undefined where nobody holds it. */
export function holderOf(lease: Lease): Holder | undefined {
  const { holderIdentity, leaseTransitions } = lease.spec;
  if (holderIdentity === undefined || holderIdentity === '') return undefined;
  const annotations = lease.metadata.annotations ?? {};
  return {
    execution: holderIdentity,
    startedAt: annotations[STARTED_ANNOTATION] ?? lease.metadata.creationTimestamp,
    generation: annotations[GENERATION_ANNOTATION] ?? '',
    epoch: leaseTransitions ?? 0,
  };
}

export const findLease = (cluster: Cluster, nodeClass: string): Promise<Lease | undefined> =>
  cluster.get('Lease', leaseName(nodeClass));

export const leaseMissing = (nodeClass: string): string => refuse('noLease', { lease: leaseName(nodeClass) });

async function readLease(cluster: Cluster, nodeClass: string): Promise<Lease> {
  const lease = await findLease(cluster, nodeClass);
  if (lease === undefined) throw new NotFoundError(leaseMissing(nodeClass));
  return lease;
}

/** Who has the turn of a class; undefined also where it has no Lease, without which no rollout writes. */
export async function findHolder(cluster: Cluster, nodeClass: string): Promise<Holder | undefined> {
  const lease = await findLease(cluster, nodeClass);
  return lease && holderOf(lease);
}

/** The later execution goes first; of two that started in one instant the one with the greater name. */
const isNewer = (one: Contender, other: Contender): boolean =>
  one.startedAt === other.startedAt ? one.execution > other.execution : one.startedAt > other.startedAt;

export type Turn =
  | { kind: 'mine'; epoch: number; takenOverAt?: string }
  /** It was somebody's, whose Lambdas may write until their time-out. */
  | { kind: 'taken'; epoch: number; takenOverAt: string }
  | { kind: 'newer'; holder: string }
  | { kind: 'same'; holder: string };

/**
 * Takes the Lease for a rollout, unless a newer one has it, or one for the same purpose that still runs. Idempotent:
 * the holder takes nothing. Throws ConflictError where somebody was faster: look again.
 */
export async function takeTurn(
  ports: { clock: Clock; workflow: Workflow },
  cluster: Cluster,
  nodeClass: string,
  me: Contender,
): Promise<Turn> {
  const lease = await readLease(cluster, nodeClass);
  const holder = holderOf(lease);
  if (holder?.execution === me.execution) return { kind: 'mine', epoch: holder.epoch, ...takenOver(lease) };
  if (holder !== undefined && isNewer(holder, me)) return { kind: 'newer', holder: holder.execution };
  const runs =
    holder !== undefined && (await ports.workflow.describe(holder.execution))?.status === 'RUNNING';
  if (runs && holder.generation === me.generation) return { kind: 'same', holder: holder.execution };
  const now = ports.clock.now();
  const epoch = await passLease(cluster, lease, now, { ...me, byForce: holder !== undefined });
  return holder === undefined
    ? { kind: 'mine', epoch }
    : { kind: 'taken', epoch, takenOverAt: now.toISOString() };
}

/** Said by the Lease too: a step may die between taking it and writing the record. */
function takenOver({ spec }: Lease): { takenOverAt?: string } {
  const { acquireTime, leaseDurationSeconds } = spec;
  return leaseDurationSeconds === undefined || acquireTime === undefined
    ? {}
    : { takenOverAt: new Date(acquireTime).toISOString() };
}

/** Gives the Lease to somebody or nobody, and raises its epoch: whoever held it sees so before its next write. */
export async function passLease(
  cluster: Cluster,
  lease: Lease,
  now: Date,
  to?: Contender & { byForce: boolean },
): Promise<number> {
  const epoch = (lease.spec.leaseTransitions ?? 0) + 1;
  const microTime = now.toISOString().replace('Z', '000Z');
  await cluster.patch('Lease', lease.metadata.name, {
    metadata: {
      resourceVersion: lease.metadata.resourceVersion,
      annotations: {
        [STARTED_ANNOTATION]: to?.startedAt ?? null,
        [GENERATION_ANNOTATION]: to?.generation ?? null,
      },
    },
    spec: {
      holderIdentity: to?.execution ?? null,
      acquireTime: to === undefined ? null : microTime,
      renewTime: to === undefined ? null : microTime,
      leaseDurationSeconds: to?.byForce === true ? LONGEST_FUNCTION_MS / 1000 : null,
      leaseTransitions: epoch,
    },
  });
  return epoch;
}

/** Throws TurnLost unless the execution holds the Lease. */
export async function assertTurn(cluster: Cluster, nodeClass: string, execution: string): Promise<void> {
  const holder = holderOf(await readLease(cluster, nodeClass));
  if (holder?.execution !== execution) {
    throw new TurnLost(
      `${execution} no longer holds Lease ${leaseName(nodeClass)}: ${holder?.execution ?? 'nobody'} does`,
    );
  }
}

/** Ends the turn of an execution, if it has it. A conflict means that somebody took it meanwhile: just as well. */
export async function endTurn(
  cluster: Cluster,
  nodeClass: string,
  execution: string,
  now: Date,
): Promise<boolean> {
  const lease = await findLease(cluster, nodeClass);
  if (lease === undefined || holderOf(lease)?.execution !== execution) return false;
  try {
    await passLease(cluster, lease, now);
    return true;
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
}
