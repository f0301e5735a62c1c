/** Scenarios for both: what the real Karpenter cannot be given is refused by name, and nothing is passed over. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { inexpressible } from './both/expressible.ts';

const pace = 'karpenter: { launch: 2s, register: 30s, initialize: 2s }\n';

it.each([
  ['faults: [{ api: "ec2:*", latency: 2s }]', 'faults[0].api: cannot be played on the real Karpenter'],
  ['seed: 7', 'seed: cannot be played on the real Karpenter'],
  [
    'nodes: [{ pool: build }, { pool: build, builds: [{ name: b, runsFor: 1m, usesImds: v1 }] }]',
    'nodes[1].builds[0].usesImds: cannot be played on the real Karpenter',
  ],
  [
    'nodes: [{ pool: build, cpu: 8 }]',
    'nodes[0].cpu: is 8; on the real Karpenter it can only be 4: instances there have 4 cpus',
  ],
  [
    'pools: { workload: {}, build: { replicas: 2 } }',
    'pools.build.replicas: cannot be played on the real Karpenter',
  ],
  ['pools: { workload: {} }', 'pools.workload: cannot be played on the real Karpenter'],
  [
    'timeline: [{ at: 1m, karpenter: { stop: 10m } }]',
    'timeline[0].karpenter.stop: cannot be played on the real Karpenter',
  ],
])('refuses %s', (text, problem) => {
  expect(inexpressible(`name: a\nrunFor: 1h\n${pace}${text}\n`)).toContain(problem);
});

it('refuses a pace that is not its own, and none', () => {
  expect(inexpressible('name: a\nrunFor: 1h\nkarpenter: { launch: 45s }\n')).toEqual([
    'karpenter.launch: is "45s"; on the real Karpenter it can only be "2s": its EC2 launches at once',
    'karpenter.register: is to be "30s" on the real Karpenter: its EC2 has an instance join 30 s after its launch',
    'karpenter.initialize: is to be "2s" on the real Karpenter: nothing keeps a node there from being initialised',
  ]);
});

it('refuses what was written for the simulator alone, key by key', () => {
  const text = readFileSync(new URL('../scenarios/default.yaml', import.meta.url), 'utf8');
  expect(inexpressible(text)).toEqual(
    expect.arrayContaining([
      'classes.workload.httpTokens: cannot be played on the real Karpenter',
      expect.stringMatching(/^nodes\[7\]\.pods\[0\]\.ownedBy: is "StatefulSet"; /),
    ]),
  );
});
