import { beforeAll, expect, test } from 'vitest';
import type { Ports } from '../../../rollout/ports.ts';
import type { RunResult } from '../../../simulator/run/result.ts';
import { run } from './product.ts';

const scenario = `
name: collect
runFor: 40m
classes: { build: { httpTokens: optional, httpPutResponseHopLimit: 3, owners: [{ manager: terraform, fields: [httpTokens, httpPutResponseHopLimit] }] } }
pools: { build: { budgets: [{ nodes: "100%" }] } }
nodes:
  - { name: busy, pool: build, builds: [{ name: long, runsFor: 2h }] }
  - { name: blocked, pool: build, pods: [{ name: cache-0, ownedBy: StatefulSet, pdb: cache, evictable: false }] }
  - { name: changed, pool: build, builds: [{ name: longer, runsFor: 3h }] }
  - { name: free, pool: build, doNotDisrupt: true }
  - { name: gone, pool: build, builds: [{ name: lost, runsFor: 3h }] }
timeline:
  - { at: 1m, set: { imds_http_tokens: required } }
  - { at: 2m, modifyInstance: { node: changed, httpTokens: required } }
  - { at: 3m, removeNode: gone }
`;

const hold = JSON.stringify({ rollout: 'demo-1', before: { doNotDisrupt: null, unschedulable: false } });

/** Patches the class, protects the running Builds' nodes and cordons the blocked one, as a rollout would. */
async function patchAndHold({ clusters, notices }: Ports): Promise<void> {
  const cluster = await clusters.connect('demo-cluster');
  for (const node of ['busy', 'changed', 'gone']) {
    const annotations = { 'imds-rollout/hold': hold, 'karpenter.sh/do-not-disrupt': 'true' };
    await cluster.patch('Node', node, { metadata: { annotations } });
  }
  await cluster.patch('Node', 'blocked', {
    metadata: { annotations: { 'imds-rollout/hold': hold } },
    spec: { unschedulable: true },
  });
  await cluster.patch('EC2NodeClass', 'build', {
    metadata: { annotations: { 'imds-rollout/generation': 'abc' } },
    spec: { metadataOptions: { httpTokens: 'required' } },
  });
  await notices.send({ type: 'IMDS Rollout Succeeded', detail: { rack: 'demo' } });
}

let patched: RunResult;

beforeAll(async () => {
  patched = await run(scenario, {
    functions: {
      plan: async (_event, ports) => {
        await patchAndHold(ports);
        return { outcome: 'Succeeded', reason: 'r' };
      },
    },
  });
});

test('held nodes say what they wait for', () => {
  expect(patched.held).toEqual([
    { node: 'busy', cordoned: false, protected: true, why: 'runs Build long' },
    {
      node: 'blocked',
      cordoned: true,
      protected: false,
      why: 'waits for Karpenter: Pdb prevents pod evictions (PodDisruptionBudget=[builds/cache])',
    },
    { node: 'changed', cordoned: false, protected: true, why: 'runs Build longer' },
  ]);
});

test('instances tell what was, what is, and what ended them', () => {
  const loose = { httpTokens: 'optional', httpPutResponseHopLimit: 3, state: 'applied' };
  const { instances, builds, buildsLost } = patched;
  expect(instances.filter(({ pool }) => pool === 'build')).toMatchObject([
    { node: 'busy', atStart: loose, atEnd: loose, modifiedAt: null, endedBy: null },
    { node: 'blocked', atStart: loose, atEnd: loose, modifiedAt: null, endedBy: null },
    {
      node: 'changed',
      atStart: loose,
      atEnd: { httpTokens: 'required', httpPutResponseHopLimit: 3, state: 'applied' },
      modifiedAt: '2026-03-02T09:02:00.000Z',
    },
    { node: 'free', atEnd: loose },
    { node: 'gone', atStart: loose, atEnd: null, endedBy: 'hand' },
  ]);
  expect(builds).toMatchObject([
    { name: 'long', outcome: 'running', changedUnder: false },
    { name: 'longer', outcome: 'running', changedUnder: true },
    { name: 'lost', outcome: 'evicted' },
  ]);
  expect(buildsLost).toBe(1);
});

test('classes show values, owners and our annotations; notices and calls are counted', () => {
  const { classes, notices, calls } = patched;
  expect(classes['build']).toMatchObject({
    metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 3 },
    owners: [
      { manager: 'terraform', fields: ['httpPutResponseHopLimit'] },
      { manager: 'imds-rollout', fields: ['httpTokens'] },
    ],
    annotations: { 'imds-rollout/generation': 'abc' },
  });
  expect(notices).toMatchObject([{ type: 'IMDS Rollout Succeeded', detail: { rack: 'demo' } }]);
  expect(calls['kubernetes:patch Node']).toEqual({ calls: 4, throttled: 0, errors: 0 });
});
