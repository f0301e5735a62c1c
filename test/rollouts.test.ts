/** How many rollouts events make, and what they cost: counts, since virtual time is free and a machine's is not. */
import { describe, expect, test, vi } from 'vitest';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import { playTraced } from './trace.ts';

vi.setConfig({ testTimeout: 120_000 });

const rack = `
parameters: { imds_http_tokens: optional, karpenter_enabled: "true", build_node_enabled: "true", imds_rollout_approval: never }
classes: { build: { httpTokens: optional, httpPutResponseHopLimit: 3 } }
pools: { build: { budgets: [{ nodes: "100%" }] } }
`;

const scenarioOf = (text: string): Scenario => loadScenario(`name: test\n${rack}${text}`, 'test.yaml');

test('two parameters set in one breath, and once more while it settles, make one rollout', async () => {
  const { result } = await playTraced(
    scenarioOf(`
runFor: 2h
nodes: [{ pool: build, count: 2 }]
timeline:
  - { at: 60s, set: { karpenter_build_imds_tokens: required, karpenter_build_imds_hop_limit: "2" } }
  - { at: 75s, set: { karpenter_build_imds_hop_limit: "1" } }
`),
  );
  expect(result.rollouts.map(({ outcome }) => outcome)).toEqual(['Succeeded']);
  expect(result.classes['build']?.metadataOptions).toMatchObject({
    httpTokens: 'required',
    httpPutResponseHopLimit: 1,
  });
});

test('A → B → A → B in a day makes four rollouts, and a purpose may come again', async () => {
  const { result } = await playTraced(
    scenarioOf(`
runFor: 24h
nodes: [{ name: kept, pool: build, pods: [{ name: cache-0, ownedBy: StatefulSet, evictable: false }] }]
timeline:
  - { at: 1h, set: { imds_rollout_deadline: 5m, karpenter_build_imds_tokens: required } }
  - { at: 3h, unset: [karpenter_build_imds_tokens] }
  - { at: 5h, set: { karpenter_build_imds_tokens: required } }
  - { at: 7h, unset: [karpenter_build_imds_tokens] }
`),
  );
  expect(result.rollouts.map(({ outcome }) => outcome)).toEqual(Array(4).fill('Succeeded'));
  const [first, second, ...again] = result.rollouts.map(({ generation }) => generation);
  expect(first).not.toBe(second);
  expect(again).toEqual([first, second]);
  expect(new Set(result.rollouts.map(({ execution }) => execution)).size).toBe(4);
  expect(result.instances.find(({ node }) => node === 'kept')?.atEnd).toMatchObject({
    httpTokens: 'optional',
  });
  expect(result.held).toEqual([]);
  expect(result.violations).toEqual([]);
});

test('while EC2 answers nothing, what is held is still counted', async () => {
  const { result } = await playTraced(
    scenarioOf(`
runFor: 2h
nodes: [{ name: busy, pool: build, builds: [{ name: long, runsFor: 90m }] }]
timeline: [{ at: 1m, set: { karpenter_build_imds_tokens: required } }]
faults: [{ api: "ec2:DescribeInstances", error: RequestLimitExceeded, from: 2m, for: 40m }]
`),
  );
  expect(result.notices.map(({ detail }) => detail)).toMatchObject([
    { outcome: 'Failed', counts: { unknown: 1, held: 1, buildsOnHeldNodes: 1 } },
  ]);
});

describe('the payload', () => {
  const minute = 60_000;
  const fleetOf = (count: number): Scenario =>
    scenarioOf(`
runFor: 3h
nodes: [{ pool: build, count: ${String(count)}, builds: [{ name: a-build-with-quite-a-long-name-of-its-own, runsFor: 3h }] }]
timeline: [{ at: 5s, set: { imds_rollout_deadline: 1m, karpenter_build_imds_tokens: required } }]
`);

  test('is flat in fleet size, and at most 8 KB', async () => {
    const few = await playTraced(fleetOf(20), { until: 3 * minute });
    // Everything is held, patched and looked at, and half a bucket of instances is modified.
    const many = await playTraced(fleetOf(2_000), { until: 2.25 * minute });
    const [small, large] = [few, many].map(({ result }) => result.rollouts[0]?.maxPayloadBytes ?? 0);
    expect(many.result.calls['kubernetes:patch Node']?.calls).toBeGreaterThanOrEqual(4_000);
    expect(many.result.calls['ec2:ModifyInstanceMetadataOptions']?.calls).toBeGreaterThanOrEqual(100);
    expect(large).toBeLessThanOrEqual(8_192);
    expect(small).toBeGreaterThan(0);
    expect(Math.abs((large ?? 0) - (small ?? 0))).toBeLessThan(200);
    expect([...few.result.violations, ...many.result.violations]).toEqual([]);
  });
});

describe('the longest policy, deadline 24 h and drain time-out 48 h', () => {
  const longest = (rest: string): Scenario =>
    scenarioOf(`
runFor: 76h
nodes: [{ name: slow, pool: build, builds: [{ name: b-slow, runsFor: 75h }] }]
timeline:
  - { at: 1m, set: { imds_rollout_deadline: 24h, imds_rollout_drain_timeout: 48h, karpenter_build_imds_tokens: required } }
${rest}`);

  test('fits an execution’s 25,000 history events', async () => {
    const { result } = await playTraced(longest(''));
    const [rollout, ...others] = result.rollouts;
    expect(others).toEqual([]);
    expect(rollout?.outcome).toBe('Succeeded');
    expect(rollout?.reason).toMatch(/still ran Builds and stay held: slow/);
    expect(rollout?.historyEvents).toBeGreaterThan(10_000);
    expect(rollout?.historyEvents).toBeLessThan(25_000);
    expect(rollout?.maxPayloadBytes).toBeLessThanOrEqual(8_192);
    expect(result.builds).toMatchObject([{ name: 'b-slow', outcome: 'finished' }]);
    expect(result.violations).toEqual([]);
  });

  test('fits too while Karpenter does not run at all', async () => {
    const { result } = await playTraced(longest('  - { at: 70s, karpenter: { stop: 73h } }\n'));
    const [rollout] = result.rollouts;
    expect(rollout?.outcome).toBe('Failed');
    expect(rollout?.reason).toMatch(/Karpenter may not be running/);
    expect(rollout?.historyEvents).toBeLessThan(25_000);
    expect(result.builds).toMatchObject([{ outcome: 'finished', changedUnder: true }]);
    expect(result.violations).toEqual([]);
  });
});

test('the default scenario asks its neighbours little', async () => {
  const text = await import('node:fs/promises').then(({ readFile }) =>
    readFile(new URL('scenarios/default.yaml', import.meta.url), 'utf8'),
  );
  const { result, world } = await playTraced(loadScenario(text, 'default.yaml'));
  const calls = (api: string): number => world.calls.get(api)?.calls ?? 0;
  const [rollout] = result.rollouts;
  // Three hours of looks: dense for minutes, then every minute or two.
  expect(rollout?.transitions).toBeLessThan(500);
  expect(rollout?.historyEvents).toBeLessThan(1_500);
  expect(calls('ec2:DescribeInstances')).toBeLessThan(200);
  expect(calls('ec2:ModifyInstanceMetadataOptions')).toBe(2);
  expect(calls('kubernetes:patch EC2NodeClass')).toBe(1);
  expect(calls('kubernetes:patch Node')).toBeLessThan(40);
  expect(calls('kubernetes:list Pod')).toBeLessThan(200);
  expect(calls('ssm:PutParameter')).toBeLessThanOrEqual(4);
  expect(calls('s3:PutObject')).toBeLessThan(30);
});
