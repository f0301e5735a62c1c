/** From the scenario as written (schema.ts) to the scenario as played (scenario.ts). */
import { parseDuration } from './duration.ts';
import type { CommandName } from './names.ts';
import type {
  Scenario,
  ScenarioAction,
  ScenarioBuild,
  ScenarioClass,
  ScenarioNode,
  ScenarioParameter,
  ScenarioPool,
} from './scenario.ts';
import type { WrittenScenario } from './schema.ts';

type Written<K extends 'nodes' | 'timeline'> = WrittenScenario[K][number];
type WrittenBuild = NonNullable<Written<'timeline'>['build']>;

/** Expects a scenario that check.ts found possible. */
export function normalise(written: WrittenScenario): Scenario {
  const classes: Record<string, ScenarioClass> = written.classes;
  const pools = mapValues(written.pools, (pool, name): ScenarioPool => ({
    ...pool,
    class: pool.class ?? name,
    limits: { cpu: pool.limits.cpu ?? null, nodes: pool.limits.nodes ?? null },
  }));
  return {
    ...written,
    startsAt: new Date(written.startsAt).toISOString(),
    parameters: parametersOf(written.parameters),
    classes,
    pools,
    nodes: expandNodes(written.nodes).map((node) =>
      withClassOptions(node, classes[pools[node.pool]?.class ?? '']),
    ),
    timeline: written.timeline
      .map((entry) => ({ at: entry.at, action: actionOf(entry) }))
      .sort((one, other) => one.at - other.at),
    faults: written.faults.map((fault) => ({
      api: fault.api,
      error: fault.error ?? null,
      latency: fault.latency ?? 0,
      from: fault.from,
      until: fault.for === undefined ? null : fault.from + fault.for,
      share: fault.share,
    })),
    karpenter: { ...written.karpenter, capacity: capacityOf(written.karpenter.capacity) },
  };
}

interface ExpandedNode {
  name: string;
  /** Index of the entry in the file. */
  entry: number;
  written: Written<'nodes'>;
  /** Appended to the names of Builds and pods of a repeated entry, so that they stay apart. */
  suffix: string;
  pool: string;
}

/** Entries with a count repeated, all nodes named: unnamed ones `<pool>-1`, `<pool>-2`, … */
export function expandNodes(nodes: WrittenScenario['nodes']): ExpandedNode[] {
  const unnamed = new Map<string, number>();
  return nodes.flatMap((written, entry) =>
    Array.from({ length: written.count }, (_, index) => {
      const suffix = written.count > 1 ? `-${String(index + 1)}` : '';
      if (written.name !== undefined)
        return { name: `${written.name}${suffix}`, entry, written, suffix, pool: written.pool };
      const number = (unnamed.get(written.pool) ?? 0) + 1;
      unnamed.set(written.pool, number);
      return { name: `${written.pool}-${String(number)}`, entry, written, suffix, pool: written.pool };
    }),
  );
}

function withClassOptions(node: ExpandedNode, nodeClass: ScenarioClass | undefined): ScenarioNode {
  const { written, suffix } = node;
  return {
    name: node.name,
    pool: written.pool,
    cpu: written.cpu,
    httpTokens: written.httpTokens ?? nodeClass?.httpTokens ?? 'required',
    httpPutResponseHopLimit: written.hopLimit ?? nodeClass?.httpPutResponseHopLimit ?? 1,
    httpEndpoint: written.httpEndpoint ?? nodeClass?.httpEndpoint ?? 'enabled',
    builds: written.builds.map((build) => ({
      ...buildOf(build),
      name: `${build.name}${suffix}`,
      startsAt: build.startsAt,
    })),
    pods: written.pods.map((pod) => ({ ...pod, name: `${pod.name}${suffix}` })),
    metadataNoToken: written.metadataNoToken ?? null,
    doNotDisrupt: written.doNotDisrupt,
    ready: written.ready,
    age: written.age ?? null,
    cordoned: written.cordoned,
    hold: written.hold ?? null,
    drifted: written.drifted,
  };
}

function buildOf(build: WrittenBuild): ScenarioBuild {
  return {
    name: build.name,
    namespace: build.namespace,
    runsFor: build.runsFor,
    cpu: build.cpu,
    usesImds: build.usesImds,
    usesImdsAt: build.at ?? null,
    labels: build.labels,
  };
}

function parametersOf(written: WrittenScenario['parameters']): Record<string, ScenarioParameter> {
  return mapValues(written, (value) => (typeof value === 'string' ? { value, type: 'String' } : value));
}

/** Keys that say more of a command. */
export const COMMAND_DETAILS = ['by', 'hash', 'reason'] as const;

/** The names of the actions of an entry; check.ts sees to it that there is exactly one. */
export function actionKeys(entry: Written<'timeline'>): string[] {
  const beside: readonly string[] = ['at', ...COMMAND_DETAILS];
  return Object.keys(entry).filter((key) => !beside.includes(key));
}

/** Where a scenario does not say who approves and why. */
const SOMEBODY = 'arn:aws:iam::123456789012:user/approver';

function commandOf(command: CommandName, { by, hash, reason }: Written<'timeline'>): ScenarioAction {
  return {
    kind: 'command',
    command,
    by: by === 'nobody' ? null : (by ?? SOMEBODY),
    hash: hash ?? 'awaited',
    reason: reason ?? 'played by the scenario',
  };
}

function actionOf(entry: Written<'timeline'>): ScenarioAction {
  if (entry.set) return { kind: 'set', parameters: parametersOf(entry.set) };
  if (entry.unset) return { kind: 'unset', keys: entry.unset };
  if (entry.build) return { kind: 'build', build: buildOf(entry.build) };
  if (entry.editClass) {
    const { class: name, manager, ...options } = entry.editClass;
    return { kind: 'editClass', class: name, manager, options };
  }
  if (entry.modifyInstance) {
    const { node, hopLimit, ...options } = entry.modifyInstance;
    return {
      kind: 'modifyInstance',
      node,
      options: hopLimit === undefined ? options : { ...options, httpPutResponseHopLimit: hopLimit },
    };
  }
  if (entry.event !== undefined) return eventOf(entry.event);
  if (entry.command) return commandOf(entry.command, entry);
  if (entry.stopExecution) return { kind: 'stopExecution' };
  if (entry.crash) return { kind: 'crash', ...entry.crash };
  if (entry.karpenter?.stop !== undefined) return { kind: 'stopKarpenter', for: entry.karpenter.stop };
  if (entry.karpenter) return { kind: 'upgradeHashVersion' };
  if (entry.removeNode !== undefined) return { kind: 'removeNode', node: entry.removeNode };
  if (entry.nodeNotReady !== undefined) return { kind: 'nodeNotReady', node: entry.nodeNotReady };
  if (entry.interrupt !== undefined) return { kind: 'interrupt', node: entry.interrupt };
  return objectActionOf(entry);
}

/** What happens to whole classes, pools and registrations. */
function objectActionOf(entry: Written<'timeline'>): ScenarioAction {
  if (entry.removeClass !== undefined) return { kind: 'removeClass', class: entry.removeClass };
  if (entry.makeClass) {
    const { class: name, ...spec } = entry.makeClass;
    return { kind: 'makeClass', class: name, spec };
  }
  if (entry.removePool !== undefined) return { kind: 'removePool', pool: entry.removePool };
  if (entry.editPool) return { kind: 'editPool', ...entry.editPool };
  if (entry.register) return { kind: 'register' };
  throw new Error('a timeline entry without an action was not refused');
}

function eventOf(text: string): ScenarioAction {
  if (text === 'lost' || text === 'doubled') return { kind: 'event', fate: text };
  return { kind: 'event', fate: 'late', by: parseDuration(text.slice('late:'.length)) ?? 0 };
}

function capacityOf(text: string): Scenario['karpenter']['capacity'] {
  if (text === 'ok' || text === 'none') return { kind: text };
  return { kind: 'after', at: parseDuration(text.slice('after:'.length)) ?? 0 };
}

function mapValues<V, W>(record: Record<string, V>, map: (value: V, key: string) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
