/**
 * Which scenarios can be played on the real Karpenter. A key that it cannot do, or does otherwise than the scenario
 * says, is refused by name and never passed over. Pure.
 */
import { parse } from 'yaml';

/** Keys that are played as written. `*` is any key of a mapping, `[]` any entry of a list. */
const played = [
  'name',
  'runFor',
  'registered',
  'parameters.*',
  'classes.build.{httpTokens,httpPutResponseHopLimit,httpEndpoint}',
  'classes.build.owners[].{manager,fields[],operation}',
  'pools.build.{consolidateAfter,expireAfter,terminationGracePeriod}',
  'pools.build.limits.cpu',
  'pools.build.budgets[].{nodes,reasons[]}',
  'nodes[].{name,pool,count,doNotDisrupt,httpTokens,hopLimit}',
  'nodes[].builds[].{name,runsFor,startsAt,cpu}',
  'nodes[].builds[].labels.*',
  'nodes[].pods[].{name,pdb,evictable,cpu}',
  'timeline[].{at,event,stopExecution,unset[]}',
  'timeline[].set.*',
  'timeline[].build.{name,runsFor,cpu}',
  'timeline[].build.labels.*',
  'timeline[].editClass.{class,manager,httpTokens,httpPutResponseHopLimit,httpEndpoint}',
  'timeline[].modifyInstance.{node,httpTokens,hopLimit}',
  'karpenter.classReady',
];

interface Fixed {
  key: string;
  value: unknown;
  why: string;
}

/** How fast Karpenter's own EC2 (KWOK) is: the file says so to the simulator, and cannot say otherwise here. */
const pace: readonly Fixed[] = [
  { key: 'karpenter.launch', value: '2s', why: 'its EC2 launches at once' },
  { key: 'karpenter.register', value: '30s', why: 'its EC2 has an instance join 30 s after its launch' },
  { key: 'karpenter.initialize', value: '2s', why: 'nothing keeps a node there from being initialised' },
];

/** Keys that have one value there, which a scenario may write. */
const fixed: readonly Fixed[] = [
  ...pace,
  { key: 'nodes[].cpu', value: 4, why: 'instances there have 4 cpus' },
  {
    key: 'nodes[].pods[].ownedBy',
    value: 'ReplicaSet',
    why: 'of the owners only a ReplicaSet is made there',
  },
  { key: 'timeline[].command', value: 'retry', why: 'the product has no other command' },
];

interface Leaf {
  /** `nodes[2].builds[0].name` */
  path: string;
  /** `nodes[].builds[].name` */
  key: string;
  value: unknown;
}

/** One line a problem; none where the scenario, which loads, can be played. */
export function inexpressible(text: string): string[] {
  const { expect: _, ...scenario } = parse(text) as Record<string, unknown>;
  const leaves = leavesOf(scenario, '', '');
  const written = new Set(leaves.map(({ key }) => key));
  return [
    ...leaves.flatMap(problem),
    ...pace
      .filter(({ key }) => !written.has(key))
      .map(
        ({ key, value, why }) => `${key}: is to be ${JSON.stringify(value)} on the real Karpenter: ${why}`,
      ),
  ];
}

function problem({ path, key, value }: Leaf): string[] {
  const one = fixed.find((candidate) => candidate.key === key);
  if (one !== undefined) {
    if (one.value === value) return [];
    return [
      `${path}: is ${JSON.stringify(value)}; on the real Karpenter it can only be ${JSON.stringify(one.value)}: ${one.why}`,
    ];
  }
  // An empty mapping or list is said as well; what could stand in it decides.
  const isPlayed =
    patterns.some((pattern) => pattern.test(key)) ||
    (isEmpty(value) && played.some((other) => other.startsWith(key)));
  return isPlayed ? [] : [`${path}: cannot be played on the real Karpenter`];
}

const patterns = played.map((key) => {
  const source = key
    .replaceAll(/[.[\]]/g, String.raw`\$&`)
    .replaceAll('*', '.+')
    .replaceAll(/\{(.+)\}/g, (_, words: string) => `(${words.replaceAll(',', '|')})`);
  return new RegExp(`^${source}$`);
});

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

function leavesOf(value: unknown, path: string, key: string): Leaf[] {
  if (isEmpty(value)) return [{ path, key, value }];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => leavesOf(item, `${path}[${String(index)}]`, `${key}[]`));
  }
  if (typeof value !== 'object' || value === null) return [{ path, key, value }];
  return Object.entries(value).flatMap(([name, item]) => {
    const dot = path === '' ? '' : '.';
    return leavesOf(item, `${path}${dot}${name}`, `${key}${dot}${name}`);
  });
}
