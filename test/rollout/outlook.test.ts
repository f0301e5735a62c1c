/** What is likely to happen to a node, and what its pool leaves room for. */
import { describe, expect, it } from 'vitest';
import { headroomOf } from '../../rollout/headroom.ts';
import type { Plan } from '../../rollout/journal.ts';
import type { NodePool } from '../../rollout/kubernetes.ts';
import { outlooks, type LiveModification } from '../../rollout/outlook.ts';

type Planned = Plan['nodes'][number];

const node = (more: Partial<Planned>): Planned => ({
  node: 'n',
  instanceId: 'i-1',
  before: null,
  verdict: 'wrong',
  builds: [],
  fate: 'replaced',
  ...more,
});
const graceful = { strategy: 'graceful', stragglers: 'modify' } as const;

it('a node that is a canary is modified before everything else', () => {
  const canary = { nodes: ['n'], bake: 600 };
  expect(outlooks({ nodes: [node({})], blockers: [], canary }, graceful)).toMatchObject([
    { live: 'as a canary' },
  ]);
});

it.each<[string, Partial<Planned>, string | null, Parameters<typeof outlooks>[1], LiveModification]>([
  ['that is idle', {}, null, graceful, 'no'],
  [
    'that runs a Build',
    { builds: ['b'], fate: 'keptUntilBuildsEnd' },
    null,
    graceful,
    'if its Builds still run',
  ],
  ['that something blocks', {}, 'PodDisruptionBudget p', graceful, 'probable'],
  ['that is right', { verdict: 'right' }, 'PodDisruptionBudget p', graceful, 'no'],
  ['that is not known', { verdict: 'unknown', fate: 'unknown' }, null, graceful, 'no'],
  ['whose endpoint is off', { verdict: 'off', fate: 'untouched' }, null, graceful, 'no'],
  ['under immediate', { builds: ['b'] }, null, { ...graceful, strategy: 'immediate' }, 'at once'],
  ['where stragglers wait', { builds: ['b'] }, 'a pod', { ...graceful, stragglers: 'wait' }, 'no'],
])('a node %s', (_what, planned, why, policy, live) => {
  const blockers = why === null ? [] : [{ node: 'n', why }];
  expect(outlooks({ nodes: [node(planned)], blockers }, policy)).toMatchObject([{ blockedBy: why, live }]);
});

describe('a pool', () => {
  const pool = (spec: object, status: object = {}): NodePool =>
    ({ kind: 'NodePool', metadata: {}, spec, status }) as unknown as NodePool;

  it('leaves what its limits do', () => {
    const { limits } = headroomOf(
      pool({ limits: { cpu: '32', memory: '64Gi', nodes: 4 } }, { resources: { cpu: '7500m' } }),
      3,
    );
    expect(limits).toEqual([
      { resource: 'cpu', limit: '32', used: '7500m', free: 24.5 },
      { resource: 'memory', limit: '64Gi', used: null, free: null },
      { resource: 'nodes', limit: '4', used: '3', free: 1 },
    ]);
  });

  it('lets as many go as its budgets say, a percentage rounded up', () => {
    const budgets = [
      { nodes: '10%' },
      { nodes: '2', reasons: ['Drifted'] },
      { nodes: '0', schedule: '@daily', duration: '1h' },
    ];
    expect(headroomOf(pool({ disruption: { budgets } }), 11).budgets).toEqual([
      { nodes: '10%', atOnce: 2, reasons: [], when: null },
      { nodes: '2', atOnce: 2, reasons: ['Drifted'], when: null },
      { nodes: '0', atOnce: 0, reasons: [], when: '@daily for 1h' },
    ]);
    expect(headroomOf(pool({}), 5).budgets).toMatchObject([{ nodes: '10%', atOnce: 1 }]);
  });
});
