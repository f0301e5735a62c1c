/** Scenarios by chance: what may happen to a rack in an afternoon, in the words of a scenario file. */
import fc from 'fast-check';
import { functionNames } from '../simulator/scenario/names.ts';

const minutes = (low: number, high: number) =>
  fc.integer({ min: low, max: high }).map((value) => `${String(value)}m`);
const seconds = (low: number, high: number) =>
  fc.integer({ min: low, max: high }).map((value) => `${String(value)}s`);
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 2 * others.length }, fc.constantFrom(...others));

const tokens = fc.constantFrom('optional', 'required');
const hopLimit = fc.integer({ min: 1, max: 4 });

/** What people write, refused values and types among it. */
const values: Record<string, fc.Arbitrary<unknown>> = {
  karpenter_build_imds_tokens: fc.oneof(
    { arbitrary: tokens, weight: 8 },
    fc.constantFrom<unknown>('Required', ' required', { value: 'required', type: 'StringList' }),
  ),
  karpenter_build_imds_hop_limit: fc.oneof(
    { arbitrary: hopLimit.map(String), weight: 8 },
    fc.constantFrom('0', '65', '01', '-1'),
  ),
  imds_http_tokens: fc.oneof({ arbitrary: tokens, weight: 8 }, fc.constant('none')),
  imds_http_hop_limit: fc.oneof({ arbitrary: hopLimit.map(String), weight: 8 }, fc.constant('0')),
  karpenter_enabled: mostly('true', 'false'),
  build_node_enabled: mostly('true', 'TRUE'),
  release: mostly('3.24.10', '3.24.9', '3.25.0-rc1', 'newest'),
  imds_rollout_strategy: mostly('graceful', 'immediate', 'karpenter'),
  imds_rollout_deadline: fc.oneof({ arbitrary: minutes(1, 40), weight: 8 }, fc.constant('30s')),
  imds_rollout_stragglers: mostly('modify', 'wait', 'fail'),
  imds_rollout_drain_timeout: fc.oneof(minutes(0, 60), fc.constant('0')),
  imds_rollout_class_writer: mostly('service', 'external'),
  imds_rollout_approval: mostly('never', 'loosening', 'always'),
  imds_rollout_canary: mostly('1', '50%', '100%', '4'),
  imds_rollout_bake: minutes(1, 15),
};
const imdsKeys = Object.keys(values).filter((key) => key.includes('imds_http') || key.includes('build_imds'));

const setting = (keys: readonly string[]) =>
  fc
    .constantFrom(...keys)
    .chain((key) => (values[key] ?? fc.constant('true')).map((value) => ({ [key]: value })));

const build = fc.record({
  runsFor: minutes(1, 75),
  cpu: fc.integer({ min: 1, max: 3 }),
  usesImds: mostly('none', 'v1', 'v2-pod'),
});

const node = fc.record(
  {
    cpu: fc.constantFrom(4, 8),
    httpTokens: tokens,
    hopLimit,
    httpEndpoint: mostly('enabled', 'enabled', 'enabled', 'enabled', 'disabled'),
    builds: fc.array(build, { maxLength: 1 }),
    pods: fc.array(
      fc.constantFrom(
        { name: 'agent', ownedBy: 'DaemonSet' },
        { name: 'cache', ownedBy: 'StatefulSet', pdb: 'cache', evictable: false },
        { name: 'web', ownedBy: 'ReplicaSet' },
      ),
      { maxLength: 1 },
    ),
    doNotDisrupt: mostly(false, false, false, true),
  },
  { requiredKeys: ['builds', 'pods'] },
);

const names = Array.from({ length: 5 }, (_, index) => `n${String(index)}`);
const someNode = fc.constantFrom(...names);
const options = fc.record({ httpTokens: tokens, hopLimit }, { requiredKeys: ['httpTokens'] });

const action = fc.oneof(
  { weight: 8, arbitrary: setting(imdsKeys).map((set) => ({ set })) },
  { weight: 4, arbitrary: setting(Object.keys(values)).map((set) => ({ set })) },
  { weight: 4, arbitrary: fc.constantFrom(...imdsKeys).map((key) => ({ unset: [key] })) },
  { weight: 10, arbitrary: build.map((each) => ({ build: each })) },
  {
    weight: 1,
    arbitrary: someNode.chain((name) => options.map((some) => ({ modifyInstance: { node: name, ...some } }))),
  },
  {
    weight: 1,
    arbitrary: tokens.map((httpTokens) => ({ editClass: { class: 'build', manager: 'helm', httpTokens } })),
  },
  { weight: 2, arbitrary: fc.constantFrom('lost', 'doubled', 'late:3m').map((event) => ({ event })) },
  { weight: 2, arbitrary: fc.constant({ stopExecution: true }) },
  {
    weight: 6,
    arbitrary: fc.record({
      crash: fc.record({
        function: fc.constantFrom(...functionNames),
        when: fc.constantFrom('before', 'after'),
      }),
    }),
  },
  { weight: 1, arbitrary: minutes(1, 25).map((stop) => ({ karpenter: { stop } })) },
  { weight: 1, arbitrary: fc.constant({ karpenter: { upgradeHashVersion: true } }) },
  { weight: 1, arbitrary: someNode.map((removeNode) => ({ removeNode })) },
  { weight: 1, arbitrary: someNode.map((nodeNotReady) => ({ nodeNotReady })) },
);

const entry = fc.tuple(fc.oneof(seconds(0, 300), minutes(0, 90)), action);

const fault = fc.record({
  api: fc.constantFrom(
    'ec2:*',
    'ec2:DescribeInstances',
    'ec2:ModifyInstanceMetadataOptions',
    'kubernetes:*',
    'kubernetes:patch Node',
    'kubernetes:patch EC2NodeClass',
    'kubernetes:patch Lease',
    'kubernetes:list Pod',
    'ssm:*',
    'ssm:PutParameter',
    's3:*',
    'states:*',
    'events:*',
    'eks:*',
    'cloudwatch:*',
  ),
  what: fc.constantFrom<object>(
    { error: 'ThrottlingException' },
    { error: 'TimeoutError' },
    { error: 'InternalError' },
    { error: 'Conflict' },
    { latency: '2s' },
    { latency: '45s' },
    // Longer than a function may run: it is killed, and what it began may still arrive.
    { latency: '130s' },
  ),
  from: fc.oneof(seconds(0, 240), minutes(0, 90)),
  for: fc.oneof(seconds(5, 120), minutes(1, 12)),
  share: fc.constantFrom(0.05, 0.2, 0.5, 1),
});

interface Entry {
  at: string;
  [key: string]: unknown;
}

/** A later set or unset makes every event's fate one that can be played. */
const lastWord: Entry[] = [{ at: '95m', unset: ['nobody_reads_this'] }];

/** One scenario as it would be written in a file, as JSON, which is YAML. */
export const scenarioText = fc
  .record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    start: fc.record({ httpTokens: tokens, httpPutResponseHopLimit: hopLimit }),
    parameters: fc.uniqueArray(setting(Object.keys(values)), {
      maxLength: 4,
      selector: (one) => Object.keys(one)[0],
    }),
    pool: fc.record({
      limits: fc.constantFrom({}, {}, { cpu: 8 }, { cpu: 24 }),
      budgets: mostly<object[]>([{ nodes: '100%' }], [{ nodes: '10%' }], [{ nodes: '0' }]),
      consolidateAfter: fc.constantFrom('Never', '60s', '10m'),
      terminationGracePeriod: fc.constantFrom(null, null, '2m'),
      expireAfter: mostly('Never', 'Never', 'Never', '25h'),
    }),
    nodes: fc.array(node, { maxLength: names.length }),
    timeline: fc.array(entry, { minLength: 1, maxLength: 18 }),
    faults: fc.array(fault, { maxLength: 3 }),
    karpenter: fc.record({
      launch: seconds(5, 90),
      capacity: mostly('ok', 'ok', 'none', 'after:40m'),
      classReady: mostly('2s', '30s', '30s', 'never'),
    }),
    ec2: fc.record({ applyDelay: seconds(0, 30), readStaleness: seconds(0, 5) }),
  })
  .map(({ start, parameters, nodes, timeline, faults, pool, ...rest }) =>
    JSON.stringify({
      name: 'by-chance',
      runFor: '8h',
      parameters: {
        karpenter_enabled: 'true',
        build_node_enabled: 'true',
        imds_rollout_approval: 'never',
        imds_rollout_deadline: '20m',
        imds_rollout_drain_timeout: '40m',
        ...(Object.assign({}, ...parameters) as object),
      },
      classes: { build: start, workload: start },
      pools: { build: pool, workload: {} },
      nodes: [
        ...nodes.map((each, index) => ({
          ...each,
          name: names[index],
          pool: 'build',
          builds: named(each.builds, index),
        })),
        // Everything that a timeline may name is there.
        ...names.slice(nodes.length).map((name) => ({ name, pool: 'workload' })),
      ],
      timeline: [
        ...timeline.map(([at, what], index) => ({
          at,
          ...('build' in what ? { build: { name: `later-${String(index)}`, ...what.build } } : what),
        })),
        ...lastWord,
      ],
      faults: faults.map(({ what, ...where }) => ({ ...where, ...what })),
      ...rest,
    }),
  );

const named = (builds: readonly object[], index: number): object[] =>
  builds.map((each) => ({ name: `first-${String(index)}`, ...each, startsAt: '-30s' }));
