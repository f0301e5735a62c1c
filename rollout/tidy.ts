/** What an end leaves behind on the nodes: the table, one last time, and the names of what stays held. */
import { driftUnseen, waitsFor } from './blockers.ts';
import { selectorOf } from './builds.ts';
import { decide } from './desired.ts';
import { ForbiddenError, TransientError } from './errors.ts';
import { readFleet, type BuildNode, type Fleet } from './fleet.ts';
import { readGround, type Ground } from './ground.ts';
import { writes } from './guard.ts';
import { handBack } from './hand-back.ts';
import { holdOn, NOTHING } from './hold.ts';
import { readJournal, writeJournal, type Entry } from './journal.ts';
import { duePatches, keep } from './keep.ts';
import { classOptions, mismatches } from './options.ts';
import { phaseOf } from './phase.ts';
import type { Node } from './kubernetes.ts';
import { isOfRack } from './naming.ts';
import type { Cluster, Ports, Registration } from './ports.ts';
import { lastPatchOf, type Options, type Outcome, type RolloutRecord } from './record.ts';
import type { Concluding } from './state.ts';
import { table, verdictOf, type Wanted } from './table.ts';
import { findHolder, TurnLost } from './turn.ts';

export type TidyPorts = Pick<Ports, 'clock' | 'parameters' | 'instances' | 'clusters' | 'reports'>;

export interface Tidied {
  ground?: Ground;
  fleet?: Fleet;
  entries: Entry[];
  /** Nodes that are still held, with what they wait for. */
  held: { node: string; why: string }[];
  /** True where a whole look found what `held` says; absent where nothing could be read, and the record alone knows. */
  known?: boolean;
}

export const UNTOUCHED: Tidied = { entries: [], held: [], known: false };

/**
 * Applies the table one last time, to what carries our hold: an end places none. Throws TransientError where the
 * cluster cannot be read, except for a failure, which names from its own evidence what it holds.
 */
export async function tidy(
  ports: TidyPorts,
  ending: Concluding,
  registration: Registration,
  others: readonly Registration[],
  record: RolloutRecord,
): Promise<Tidied> {
  try {
    const read = await readGround(ports, registration, others);
    if (read.kind === 'gone')
      return await releaseOwn(ports, read.cluster, registration, ending.execution, page(ports, ending));
    const { ground } = read;
    const holder = await findHolder(ground.cluster, ground.nodeClass.metadata.name);
    // Somebody else's rollout has the nodes now: their holds are its own.
    if (holder !== undefined && holder.execution !== ending.execution) return { ...UNTOUCHED, ground };
    return await tidyGround(ports, ending, ground, record);
  } catch (error) {
    // A newer rollout came between: the nodes are its own now.
    if (error instanceof TurnLost) return UNTOUCHED;
    const unreachable = error instanceof TransientError || error instanceof ForbiddenError;
    if (ending.outcome === 'Failed' && unreachable) {
      return { entries: [], held: await heldByEvidence(ports, ending) };
    }
    throw error;
  }
}

async function tidyGround(
  ports: TidyPorts,
  ending: Concluding,
  ground: Ground,
  record: RolloutRecord,
): Promise<Tidied> {
  const decision = decide(await ports.parameters.list(ending.rack), true);
  const isSelected = selectorOf(decision.kind === 'asks' ? decision.policy : {});
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, isSelected);
  const now = ports.clock.now();
  const wanted = wantedAtEnd(ending, fleet, ground, record, now).filter(
    ({ node }) => node.hold !== undefined,
  );
  const { tryPatch } = writes(ground, () => assertFree(ground, ending.execution));
  const kept = await keep(
    ports,
    { tryPatch },
    duePatches(wanted, ending.execution, now),
    page(ports, ending),
  );
  const [events, budgets] = await Promise.all([
    ground.cluster.list('Event'),
    ground.cluster.list('PodDisruptionBudget'),
  ]);
  const released = new Set(
    wanted.filter(({ want }) => !want.protect && !want.cordon).map(({ node }) => node.name),
  );
  const held = fleet.nodes
    .filter(({ name, hold, leaving }) => hold !== undefined && !leaving && !released.has(name))
    .map((node) => ({
      node: node.name,
      why: unseenIfWrong(node, ending, record) ?? waitsFor(node, { events, budgets }, now),
    }));
  return { ground, fleet, entries: kept.entries, held, known: kept.left === 0 };
}

/** Of a node that is wrong and stays so: that Karpenter does not even see it. */
function unseenIfWrong(node: BuildNode, { target }: Concluding, record: RolloutRecord): string | undefined {
  const patchedAt = lastPatchOf(record);
  return verdictOf(node, target ?? {}, patchedAt) === 'wrong' ? driftUnseen(node, patchedAt) : undefined;
}

const page =
  (ports: TidyPorts, ending: Concluding) =>
  (entries: Entry[]): Promise<void> =>
    writeJournal(ports, ending, 'conclude', entries);

/** After a success that restored options: they are their former owner's again. Not once a newer rollout has the class. */
export async function giveBack(
  { outcome, execution, restoring, target }: Concluding,
  { ground }: Tidied,
): Promise<void> {
  if (ground === undefined || outcome !== 'Succeeded' || restoring === undefined || restoring.length === 0)
    return;
  const holder = await findHolder(ground.cluster, ground.nodeClass.metadata.name);
  if (holder !== undefined && holder.execution !== execution) return;
  await handBack(ground, restoring, Object.keys(target ?? {}).length > restoring.length);
}

/** Nobody but the execution itself may have the Lease: what others hold is theirs. Throws TurnLost. */
export async function assertFree(
  { cluster, nodeClass }: Ground,
  execution: string | undefined,
): Promise<void> {
  const holder = await findHolder(cluster, nodeClass.metadata.name);
  if (holder !== undefined && holder.execution !== execution) {
    throw new TurnLost(`${holder.execution} has taken the Lease meanwhile`);
  }
}

/**
 * Pool or class vanished: nothing can be judged any more, and nothing will be replaced for what was patched. Of the
 * holds of a cluster only the rack's own are released: those of its pool, and those that name a rollout of it.
 */
export async function releaseOwn(
  ports: Pick<Ports, 'clock'>,
  cluster: Cluster,
  { rack, nodePool }: Registration,
  execution: string | undefined,
  evidence: (entries: Entry[]) => Promise<void>,
): Promise<Tidied> {
  const [nodes, claims] = [await cluster.list('Node'), await cluster.list('NodeClaim')];
  const held: Wanted[] = [
    ...nodes.map((node) => ({ name: node.metadata.name, node, pool: poolOf(node), hold: holdOn(node) })),
    ...claims.map((claim) => ({
      name: claim.metadata.name,
      claim,
      pool: poolOf(claim),
      hold: holdOn(claim),
    })),
  ].flatMap(({ hold, pool, ...rest }) =>
    hold === undefined || (pool !== nodePool && !isOfRack(rack, hold.rollout))
      ? []
      : [{ node: { ...UNREAD, ...rest, hold }, want: NOTHING, why: 'pool or class vanished' }],
  );
  const { tryPatch } = writes({ cluster }, () => Promise.resolve());
  const kept = await keep(ports, { tryPatch }, duePatches(held, execution, ports.clock.now()), evidence);
  return { entries: kept.entries, held: [], known: kept.left === 0 };
}

const poolOf = ({ metadata }: Pick<Node, 'metadata'>): string | undefined =>
  metadata.labels?.['karpenter.sh/nodepool'];

const UNREAD = {
  pods: [],
  builds: [],
  hash: 'unsettled',
  drifted: false,
  leaving: false,
} satisfies Partial<BuildNode>;

/**
 * The table as it is to stay when the rollout is over. Under strategy karpenter nothing is held. Of what is no longer
 * asked no instance is wrong, but a node that drifted for it keeps its hold until its Build has ended.
 */
export function wantedAtEnd(
  { outcome, target, strategy }: Pick<Concluding, 'outcome' | 'target' | 'strategy'>,
  fleet: Fleet,
  { nodeClass }: Pick<Ground, 'nodeClass'>,
  record: RolloutRecord,
  now: Date,
): Wanted[] {
  if (strategy === 'karpenter') {
    return fleet.nodes.map((node) => ({ node, want: NOTHING, why: 'imds_rollout_strategy is karpenter' }));
  }
  const phase = phaseOf(fleet, record, now);
  const patchedAt = lastPatchOf(record);
  return table({ fleet, target: judgedTarget(outcome, target ?? {}, nodeClass), phase, patchedAt, now });
}

/** Where the class does not say what was asked for, an instance is not wrong: only drift makes it leave. */
function judgedTarget(outcome: Outcome, target: Options, nodeClass: Ground['nodeClass']): Options {
  const nothingAsked = outcome === 'RolledBack' || outcome === 'Withdrawn';
  return nothingAsked || mismatches(target, classOptions(nodeClass)).length > 0 ? {} : target;
}

/** What the execution's own evidence says is held, where the cluster does not answer. */
async function heldByEvidence(ports: Pick<Ports, 'reports'>, ending: Concluding): Promise<Tidied['held']> {
  const held = new Set<string>();
  for (const entry of await readJournal(ports, ending)) {
    if (entry.what === 'allProtected') for (const node of entry.nodes) held.add(node);
    else if (entry.what === 'hold' && (entry.protected || entry.cordoned)) held.add(entry.node);
    else if (entry.what === 'hold' || entry.what === 'left') held.delete(entry.node);
  }
  return [...held].map((node) => ({ node, why: 'the cluster, which does not answer' }));
}
