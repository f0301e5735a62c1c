/** From a rack and its cluster as they are to a scenario that goes on from there. Pure. */
import { isBuildGroups } from '../../rollout/build-groups.ts';
import { isKey, POLICY_PREFIX } from '../../rollout/parameters.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { cpuOf } from '../../simulator/cluster/names.ts';
import { nodesOf } from './live-nodes.ts';
import { classOf, poolOf } from './live-pools.ts';
import { createPodReader, type Expected } from './live-pods.ts';
import type { Live } from './live.ts';
import { createNotes, type Notes, type Written, type WrittenEntry } from './written.ts';

export interface FromLive {
  scenario: Written;
  /** What the cluster has and a scenario cannot say, each in words. */
  couldNotExpress: string[];
  /** namespace/name of each Build by the name that it has in the scenario. */
  builds: ReadonlyMap<string, string>;
}

/** The pool that takes a scenario's Builds. */
const POOL = 'build';
const RUN_FOR = '4d';

export function scenarioFrom(live: Live, expected: Expected): FromLive {
  const notes = createNotes();
  const pods = createPodReader(live, expected, notes);
  const { nodes, launching, entries } = nodesOf(live, pods, notes);
  const poolName = poolNames(live);
  const isRemembered = JSON.stringify(live.record) !== JSON.stringify(emptyRecord);
  const cpus = live.claims
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === live.pool.metadata.name)
    .map(({ status }) => cpuOf(status?.capacity?.['cpu']))
    .filter((cpu) => cpu > 0);
  if (new Set(cpus).size > 1)
    notes.add('that Karpenter chooses among instance types: all that it launches are alike');
  if (live.elsewhere > 0) notes.add(`${String(live.elsewhere)} nodes of other pools`);
  for (const { name } of live.running ?? [])
    notes.add(`execution ${name}, which runs: another takes its place, and goes by what it has written`);
  if (live.running === null) notes.add('whether an execution runs, which may not be listed: none does');
  if (live.budgets === null)
    notes.add('PodDisruptionBudgets, which may not be listed: every pod is taken to be evictable');
  if (live.account === null) notes.add('what the account forbids, which may not be read: nothing is');
  const scenario: Written = {
    name: `${live.rack}-live`,
    rack: live.rack,
    startsAt: live.at.toISOString(),
    runFor: RUN_FOR,
    parameters: parametersOf(live, notes),
    ...(isRemembered && { record: live.record }),
    racks: Object.fromEntries(
      live.others
        .filter(({ nodePool }) => live.pools.some(({ metadata }) => metadata.name === nodePool))
        .map(({ rack, nodePool }) => [rack, { pool: poolName(nodePool) }]),
    ),
    classes: Object.fromEntries(
      [...live.classes].map(([name, nodeClass]) => [
        name,
        classOf(nodeClass, isRemembered && name === live.nodeClass.metadata.name, notes),
      ]),
    ),
    pools: Object.fromEntries(
      live.pools.map((pool) => [
        poolName(pool.metadata.name),
        poolOf(pool, poolName(pool.metadata.name), launching.get(pool.metadata.name) ?? 0, notes),
      ]),
    ),
    nodes: nodes.map((node) => ({ ...node, pool: poolName(node.pool) })),
    timeline: [...entries, ...beginning(live)],
    karpenter: { ...(cpus.length > 0 && { cpu: median(cpus) }) },
    ...(live.account?.httpTokensEnforced === true && { account: { httpTokensEnforced: true } }),
  };
  return { scenario, couldNotExpress: notes.all(), builds: pods.names };
}

/** The rack's pool has the name that a scenario's has; another one of that name makes room. */
function poolNames({ pool }: Live): (name: string) => string {
  const mine = pool.metadata.name;
  return (name) => (name === mine ? POOL : name === POOL ? `${POOL}-of-others` : name);
}

/** Those that the service reads and no others: a rack's may hold anything. What is encrypted is withheld. */
function parametersOf({ stored }: Live, notes: Notes): NonNullable<Written['parameters']> {
  const read = stored.filter(({ key }) => isKey(key) || key.startsWith(POLICY_PREFIX) || isBuildGroups(key));
  if (read.length < stored.length)
    notes.add(
      `${String(stored.length - read.length)} parameters of the rack that this service does not read`,
    );
  return Object.fromEntries(
    read.map(({ key, value, type }) => [
      key,
      type === 'String' ? value : { value: type === 'SecureString' ? 'withheld' : value, type },
    ]),
  );
}

/** A rollout begins at once where one would, and whoever has to approve does so. */
function beginning(live: Live): WrittenEntry[] {
  if (!goesOn(live)) return [];
  const { proposal } = live;
  const question = proposal.kind === 'roll' ? proposal.question : undefined;
  return [
    { at: '1s', command: 'retry' as const },
    ...(question === undefined ? [] : [{ at: '2m', command: 'approve' as const, reason: 'assumed' }]),
  ];
}

/** Whether a rollout would run, or does already: its state is in the cluster and the record, and another one takes over. */
export const goesOn = ({ proposal }: Pick<Live, 'proposal'>): boolean =>
  proposal.kind === 'roll' || isAlreadyRun(proposal);

/** Whether a rollout is under way already, so that what comes is counted from now. */
export const isUnderWay = ({ running }: Pick<Live, 'running'>): boolean => (running ?? []).length > 0;

const isAlreadyRun = (proposal: Live['proposal']): boolean =>
  proposal.kind === 'end' &&
  proposal.outcome === 'NothingToDo' &&
  proposal.purpose !== undefined &&
  proposal.fleet === undefined;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 4;
}
