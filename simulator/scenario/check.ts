/** What a well-formed scenario can still get wrong: things that cannot be, each with the path of its key. */
import { isKey, parameters, POLICY_PREFIX } from '../../rollout/parameters.ts';
import { formatDuration } from './duration.ts';
import { availableCommands } from './names.ts';
import { actionKeys, COMMAND_DETAILS, expandNodes } from './normalise.ts';
import type { WrittenScenario } from './schema.ts';
import { suggest } from './suggest.ts';

export type Path = readonly (string | number)[];

export interface Problem {
  path: Path;
  /** The whole problem in words, without the place. */
  what: string;
}

/** Every impossibility, in the order of the file. */
export function impossibilities(scenario: WrittenScenario): Problem[] {
  return [
    ...badEnd(scenario),
    ...missingClasses(scenario),
    ...badPools(scenario),
    ...badNodes(scenario),
    ...badTimeline(scenario),
    ...badFaults(scenario),
    ...nearMisses(scenario),
  ];
}

/**
 * A rack has parameters that are not the service's, and a scenario may have them. One that is nearly a known one is a
 * slip, which would be played as if nothing was set. A policy that is none is refused by the service itself.
 */
function nearMisses({ parameters: atStart, timeline }: WrittenScenario): Problem[] {
  const known = Object.keys(parameters);
  const written = [
    ...Object.keys(atStart).map((key) => ({ key, path: ['parameters', key] as Path })),
    ...timeline.flatMap(({ set = {}, unset = [] }, index) => [
      ...Object.keys(set).map((key) => ({ key, path: ['timeline', index, 'set', key] as Path })),
      ...unset.map((key, place) => ({ key, path: ['timeline', index, 'unset', place] as Path })),
    ]),
  ];
  return written.flatMap(({ key, path }) => {
    const near = isKey(key) || key.startsWith(POLICY_PREFIX) ? undefined : suggest(key, known);
    return near === undefined ? [] : [{ path, what: `no parameter of this service; did you mean ${near}?` }];
  });
}

const longest = 30 * 86_400_000;

function badEnd({ runFor }: WrittenScenario): Problem[] {
  if (runFor > 0 && runFor <= longest) return [];
  return [
    {
      path: ['runFor'],
      what: `${formatDuration(runFor)} is not accepted; accepted: more than 0s and at most 30d`,
    },
  ];
}

function missingClasses(scenario: WrittenScenario): Problem[] {
  const classes = Object.keys(scenario.classes);
  return Object.entries(scenario.pools).flatMap(([name, pool]) => {
    const wanted = pool.class ?? name;
    if (classes.includes(wanted) || pool.classKind !== 'EC2NodeClass') return [];
    const path = pool.class === undefined ? ['pools', name] : ['pools', name, 'class'];
    return [{ path, what: unknown('class', wanted, classes) }];
  });
}

/** As Karpenter's CRD has it. */
function badPools({ pools, racks }: WrittenScenario): Problem[] {
  const limits = Object.entries(pools).flatMap(([name, { limits: given, replicas }]): Problem[] => {
    const path = ['pools', name, 'limits'];
    if (replicas === null && given.nodes !== undefined)
      return [{ path: [...path, 'nodes'], what: 'is for a static pool, one with replicas' }];
    if (replicas !== null && given.cpu !== undefined)
      return [{ path: [...path, 'cpu'], what: 'a static pool is limited by nodes alone' }];
    return [];
  });
  const known = Object.keys(pools);
  const racksPools = Object.entries(racks).flatMap(([rack, { pool }]): Problem[] =>
    known.includes(pool) ? [] : [{ path: ['racks', rack, 'pool'], what: unknown('pool', pool, known) }],
  );
  return [...limits, ...racksPools];
}

function badNodes(scenario: WrittenScenario): Problem[] {
  const pools = Object.keys(scenario.pools);
  const problems: Problem[] = [];
  scenario.nodes.forEach((node, index) => {
    const path = ['nodes', index];
    if (!pools.includes(node.pool))
      problems.push({ path: [...path, 'pool'], what: unknown('pool', node.pool, pools) });
    problems.push(...overfull(node, path));
  });
  const expanded = expandNodes(scenario.nodes);
  problems.push(
    ...duplicates(
      'node',
      expanded.map((node) => ({ name: node.name, path: ['nodes', node.entry] })),
    ),
    ...duplicates('Build or pod', podNames(scenario)),
    ...duplicates(
      'service account',
      scenario.serviceAccounts.map(({ name }, index) => ({ name, path: ['serviceAccounts', index, 'name'] })),
    ),
  );
  return problems;
}

/** Builds that are on the node at one moment, by what they ask for. Later arrivals are bound to it, so they count. */
function overfull(node: WrittenScenario['nodes'][number], path: Path): Problem[] {
  const pods = node.pods.reduce((sum, pod) => sum + pod.cpu, 0);
  const asked = node.builds.map((build) =>
    node.builds
      .filter((other) => other.startsAt <= build.startsAt && build.startsAt < other.startsAt + other.runsFor)
      .reduce((sum, other) => sum + other.cpu, pods),
  );
  const most = Math.max(pods, ...asked);
  const over: Problem[] =
    most > node.cpu
      ? [
          {
            path: [...path, 'builds'],
            what: `the pods ask for ${String(most)} cpu at once and the node has ${String(node.cpu)}`,
          },
        ]
      : [];
  const ended = node.builds.flatMap((build, index) =>
    build.startsAt + build.runsFor <= 0
      ? [{ path: [...path, 'builds', index], what: `${build.name} has ended before the scenario starts` }]
      : [],
  );
  return [...over, ...ended];
}

function podNames(scenario: WrittenScenario): { name: string; path: Path }[] {
  const onNodes = expandNodes(scenario.nodes).flatMap(({ written, entry, suffix }) => [
    ...written.builds.map((build, index) => ({
      name: build.name + suffix,
      path: ['nodes', entry, 'builds', index],
    })),
    ...written.pods
      // Copies of a DaemonSet's or ReplicaSet's pod may be called alike: nothing refers to them by name.
      .filter((pod) => pod.ownedBy === null)
      .map((pod, index) => ({ name: pod.name + suffix, path: ['nodes', entry, 'pods', index] })),
  ]);
  const later = scenario.timeline.flatMap((entry, index) =>
    entry.build ? [{ name: entry.build.name, path: ['timeline', index, 'build'] }] : [],
  );
  return [...onNodes, ...later];
}

function duplicates(what: string, named: readonly { name: string; path: Path }[]): Problem[] {
  const seen = new Set<string>();
  return named.flatMap(({ name, path }) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ path, what: `${name} is the name of another ${what} already` }];
  });
}

function badTimeline(scenario: WrittenScenario): Problem[] {
  const nodes = expandNodes(scenario.nodes).map((node) => node.name);
  return scenario.timeline.flatMap((entry, index): Problem[] => {
    const path: Path = ['timeline', index];
    const problems: Problem[] = [];
    const actions = actionKeys(entry);
    if (actions.length !== 1) {
      const what =
        actions.length === 0 ? 'the entry does nothing' : `${actions.join(' and ')} are in one entry`;
      problems.push({ path, what: `${what}: write at and exactly one action; entries may have the same at` });
    }
    if (entry.at > scenario.runFor) {
      problems.push({
        path: [...path, 'at'],
        what: `${formatDuration(entry.at)} is after runFor (${formatDuration(scenario.runFor)}) and would never be played`,
      });
    }
    const references = [
      { key: ['removeNode'], name: entry.removeNode },
      { key: ['interrupt'], name: entry.interrupt },
      { key: ['nodeNotReady'], name: entry.nodeNotReady },
      { key: ['modifyInstance', 'node'], name: entry.modifyInstance?.node },
    ];
    for (const { key, name } of references) {
      if (name !== undefined && !nodes.includes(name)) {
        problems.push({ path: [...path, ...key], what: unknown('node', name, nodes) });
      }
    }
    problems.push(...unknownObjects(scenario, entry, path));
    problems.push(...emptyAction(entry, path), ...badEvent(scenario, index), ...badCommand(entry, path));
    return problems;
  });
}

type Entry = WrittenScenario['timeline'][number];

/** Classes and pools that an entry names; a class may be one that is made by an entry. */
function unknownObjects({ classes, pools, timeline }: WrittenScenario, entry: Entry, path: Path): Problem[] {
  const made = timeline.flatMap(({ makeClass }) => (makeClass ? [makeClass.class] : []));
  const known = { class: [...Object.keys(classes), ...made], pool: Object.keys(pools) };
  const named = [
    { kind: 'class', key: ['editClass', 'class'], name: entry.editClass?.class },
    { kind: 'class', key: ['removeClass'], name: entry.removeClass },
    { kind: 'class', key: ['editPool', 'class'], name: entry.editPool?.class },
    { kind: 'pool', key: ['editPool', 'pool'], name: entry.editPool?.pool },
    { kind: 'pool', key: ['removePool'], name: entry.removePool },
  ] as const;
  return named.flatMap(({ kind, key, name }) =>
    name === undefined || known[kind].includes(name)
      ? []
      : [{ path: [...path, ...key], what: unknown(kind, name, known[kind]) }],
  );
}

function emptyAction(entry: Entry, path: Path): Problem[] {
  const nothing = (key: string, accepted: string): Problem[] => [
    { path: [...path, key], what: `changes nothing: give ${accepted}` },
  ];
  if (entry.set && Object.keys(entry.set).length === 0) return nothing('set', 'at least one parameter');
  if (entry.unset?.length === 0) return nothing('unset', 'at least one parameter');
  const options = 'at least one of httpTokens, hopLimit, httpEndpoint';
  if (entry.modifyInstance && Object.keys(entry.modifyInstance).length < 2)
    return nothing('modifyInstance', options);
  if (entry.editClass && Object.keys(entry.editClass).length < 3) {
    return nothing('editClass', 'at least one of httpTokens, httpPutResponseHopLimit, httpEndpoint');
  }
  if (entry.karpenter && Object.keys(entry.karpenter).length !== 1) {
    return [{ path: [...path, 'karpenter'], what: 'give either {stop: 10m} or {upgradeHashVersion: true}' }];
  }
  return [];
}

/** An `event` is about the next set or unset, so there must be one. */
function badEvent({ timeline }: WrittenScenario, index: number): Problem[] {
  const entry = timeline[index];
  if (entry?.event === undefined) return [];
  const follows = timeline.some(
    (other, place) =>
      (other.set !== undefined || other.unset !== undefined) &&
      (other.at > entry.at || (other.at === entry.at && place > index)),
  );
  if (follows) return [];
  return [
    { path: ['timeline', index, 'event'], what: 'no set or unset follows whose events this could be about' },
  ];
}

function badCommand(entry: Entry, path: Path): Problem[] {
  const { command } = entry;
  const detail = COMMAND_DETAILS.find((key) => entry[key] !== undefined);
  if (detail !== undefined && command !== 'approve' && command !== 'reject')
    return [{ path: [...path, detail], what: 'is about approve and reject alone' }];
  if (command === undefined || availableCommands.includes(command)) return [];
  const available = availableCommands.length === 0 ? 'no command' : availableCommands.join(', ');
  return [
    {
      path: [...path, 'command'],
      what: `${command} is not available yet: ${available} can be played so far`,
    },
  ];
}

function badFaults({ faults }: WrittenScenario): Problem[] {
  return faults.flatMap((fault, index) =>
    fault.error === undefined && fault.latency === undefined
      ? [{ path: ['faults', index], what: 'does nothing: give an error, a latency or both' }]
      : [],
  );
}

function unknown(what: string, name: string, known: readonly string[]): string {
  const near = suggest(name, known);
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  const list = known.length > 12 ? `${known.slice(0, 12).join(', ')}, …` : known.join(', ');
  return `there is no ${what} ${name}${hint}; there is ${list === '' ? 'none' : list}`;
}
