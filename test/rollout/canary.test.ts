/** Canaries: which nodes are tried, what their marks keep, and what a bake comes to. */
import { describe, expect, it } from 'vitest';
import { chooseCanary, healthOf, isCanaryDue, type BakeLook, type Health } from '../../rollout/canary.ts';
import { isCarriedOn, markFor, markOn, markPatch, putBackOptions } from '../../rollout/canary-mark.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import { failedAt } from '../../rollout/builds.ts';
import { holdNode, PROTECT } from '../../rollout/hold.ts';
import { CANARY_ANNOTATION, HOLD_ANNOTATION } from '../../rollout/naming.ts';
import type { Rolling } from '../../rollout/state.ts';
import {
  at,
  build,
  buildNode,
  condition,
  fleetOf,
  instant,
  metadataOptions,
  nodeClass,
  patched,
  rolling,
  WRONG,
} from './given.ts';

const target = { httpTokens: 'required', httpPutResponseHopLimit: 1 } as const;
const nodes = (number: number) => ({ number, unit: 'nodes' }) as const;
const percent = (number: number) => ({ number, unit: 'percent' }) as const;

function launched(node: BuildNode, seconds: number): BuildNode {
  if (node.instance) node.instance.launchTime = instant(seconds);
  return node;
}

const wrong = (name: string, launchedAt = -3600, builds: string[] = []): BuildNode =>
  launched(
    buildNode(name, { options: WRONG, builds: builds.map((each) => build(each, { node: name })) }),
    launchedAt,
  );

describe('whether one is due', () => {
  const policy: Rolling['policy'] = { ...rolling().policy, canary: { size: nodes(1), bake: 600 } };
  const asked = { policy, target, generation: 'g' };
  const looser = nodeClass({ says: WRONG });

  it.each<[string, boolean, Parameters<typeof isCanaryDue>]>([
    ['the class differs', true, [asked, {}, looser]],
    ['no canary is asked for', false, [{ ...asked, policy: rolling().policy }, {}, looser]],
    ['the class says it already', false, [asked, {}, nodeClass()]],
    ['the class was patched for this', false, [asked, { generation: 'g', patchedAt: instant(0) }, looser]],
    [
      'the class was patched for something else',
      true,
      [asked, { generation: 'x', patchedAt: instant(0) }, looser],
    ],
    ['it is over', false, [{ ...asked, canary: { over: 'healthy' } }, {}, looser]],
    ['it bakes', true, [{ ...asked, canary: { markedAt: instant(0) } }, {}, looser]],
    ['values are taken back', false, [{ ...asked, takingBack: 'not Ready' }, {}, looser]],
    [
      'somebody else writes the class',
      false,
      [{ ...asked, policy: { ...policy, classWriter: 'external' } }, {}, looser],
    ],
  ])('%s: %s', (_, due, given) => {
    expect(isCanaryDue(...given)).toBe(due);
  });
});

describe('the choice', () => {
  const chosen = (...given: Parameters<typeof chooseCanary>): unknown => {
    const choice = chooseCanary(...given);
    return choice.kind === 'chosen' ? choice.nodes.map(({ name }) => name) : choice;
  };

  it('takes nodes that run Builds first, then the oldest, then by name', () => {
    const fleet = fleetOf([
      wrong('idle-b', -7200),
      wrong('idle-a', -7200),
      wrong('idle-old', -9000),
      wrong('busy-young', -60, ['b-1']),
      wrong('busy-old', -600, ['b-2']),
    ]);
    const order = ['busy-old', 'busy-young', 'idle-old', 'idle-a', 'idle-b'];
    for (const count of [1, 2, 3, 4, 5])
      expect(chosen(nodes(count), fleet, target)).toEqual(order.slice(0, count));
    expect(chosen(nodes(2), { ...fleet, nodes: fleet.nodes.toReversed() }, target)).toEqual(
      order.slice(0, 2),
    );
  });

  it.each([
    [1, 1],
    [33, 1],
    [34, 2],
    [67, 3],
    [100, 3],
  ])('rounds %i%% of three up to %i', (share, count) => {
    const fleet = fleetOf([wrong('a'), wrong('b'), wrong('c')]);
    expect(chosen(percent(share), fleet, target)).toHaveLength(count);
  });

  it.each<[string, BuildNode]>([
    ['is right', buildNode('other')],
    ['has its endpoint off', buildNode('other', { options: { ...WRONG, httpEndpoint: 'disabled' } })],
    ['is unknown', buildNode('other', { options: null })],
    ['has a change pending', buildNode('other', { options: { ...WRONG, state: 'pending' } })],
    ['leaves', buildNode('other', { options: WRONG, leaving: true })],
    ['is not registered', buildNode('other', { options: WRONG, registered: false })],
  ])('counts no node that %s', (_, other) => {
    const fleet = fleetOf([wrong('a'), other]);
    expect(chosen(percent(100), fleet, target)).toEqual(['a']);
    expect(chosen(nodes(2), fleet, target)).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(
        /^imds_rollout_canary is 2 and NodePool build has only 1 that can be one/,
      ) as string,
    });
  });

  it('is refused by name where the pool is empty, and none in percent', () => {
    expect(chosen(nodes(1), fleetOf([]), target)).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(/has no build node that can be one/) as string,
    });
    expect(chosen(percent(50), fleetOf([]), target)).toMatchObject({ kind: 'none' });
  });

  it('is none where every instance is right', () => {
    expect(chosen(nodes(5), fleetOf([buildNode('a')]), target)).toMatchObject({ kind: 'none' });
  });
});

describe('the mark', () => {
  const rollout = { rack: 'demo', execution: 'demo-1', generation: 'g', target };
  const instance = {
    instanceId: 'i-1',
    metadataOptions: metadataOptions({ ...WRONG, instanceMetadataTags: 'enabled' }),
  };

  it('keeps everything that was, and what was tried', () => {
    expect(markFor(rollout, instance, at(0))).toEqual({
      rack: 'demo',
      rollout: 'demo-1',
      generation: 'g',
      instanceId: 'i-1',
      since: instant(0),
      before: { ...WRONG, httpEndpoint: 'enabled', instanceMetadataTags: 'enabled' },
      after: target,
      tried: ['httpTokens', 'httpPutResponseHopLimit'],
    });
  });

  it('keeps what was before the first of several rollouts, and every option that any of them tried', () => {
    const first = markFor({ ...rollout, target: { httpPutResponseHopLimit: 1 } }, instance, at(0));
    const tried = { ...instance, metadataOptions: metadataOptions({ ...WRONG, httpPutResponseHopLimit: 1 }) };
    const second = markFor(
      { ...rollout, execution: 'demo-2', target: { httpTokens: 'required' } },
      tried,
      at(60),
      first,
    );
    expect(second).toMatchObject({ rollout: 'demo-2', since: instant(0), before: WRONG });
    expect(putBackOptions(second)).toEqual(WRONG);
  });

  it('goes to the node with its hold in one guarded patch, is read there, and goes again', () => {
    const { node } = buildNode('a', { options: WRONG });
    if (node === undefined) throw new Error('it has no node');
    const mark = markFor(rollout, instance, at(0));
    const hold = holdNode(node, PROTECT, 'demo-1', at(0));
    const patch = markPatch(node, mark, hold);
    expect(patch).toMatchObject({ metadata: { resourceVersion: node.metadata.resourceVersion } });
    const after = patched(node, patch);
    expect(Object.keys(after.metadata.annotations ?? {})).toEqual(
      expect.arrayContaining([CANARY_ANNOTATION, HOLD_ANNOTATION]),
    );
    expect(markOn(after)).toEqual(mark);
    expect(markPatch(after, mark)).toBeUndefined();
    const off = patched(after, markPatch(after, null));
    expect(markOn(off)).toBeUndefined();
    expect(off.metadata.annotations).toHaveProperty([HOLD_ANNOTATION]);
    expect(markPatch(off, null)).toBeUndefined();
  });

  it('that somebody edited is still one', () => {
    const { node } = buildNode('a', { annotations: { [CANARY_ANNOTATION]: '{"before":1}' } });
    expect(node && markOn(node)).toBe('unreadable');
  });

  it('is carried on once the class says what was tried', () => {
    const mark = markFor(rollout, instance, at(0));
    expect(isCarriedOn(mark, nodeClass())).toBe(true);
    expect(isCarriedOn(mark, nodeClass({ says: { ...WRONG, httpTokens: 'required' } }))).toBe(false);
  });
});

describe('the bake', () => {
  const look = (seconds: number, more: Partial<BakeLook> = {}): BakeLook => ({
    now: at(seconds),
    bake: 600,
    markedAt: instant(0),
    bakingSince: instant(10),
    nodes: ['n-2', 'n-1'],
    notInForce: [],
    rejected: new Map([['n-1', 0]]),
    // The first whole period of 5 minutes since its options are in force.
    measured: new Map([['n-1', [at(300)]]]),
    failed: [],
    unknown: [],
    ...more,
  });
  const failed = [{ build: 'app/b', node: 'n-1', at: instant(30) }];

  it.each<[string, BakeLook, Health['kind'], RegExp]>([
    [
      'goes on until its time is over',
      look(609),
      'baking',
      /^canary n-1, n-2 bakes until 2026-03-02T09:10:10.000Z: 0 rejections, 0 failed Builds$/,
    ],
    [
      'is healthy then',
      look(610),
      'healthy',
      /^canary n-1, n-2 baked for 10 min: 0 rejections, 0 failed Builds$/,
    ],
    [
      'has not begun while options are pending',
      look(1200, { bakingSince: undefined as never, notInForce: ['n-1'] }),
      'baking',
      /begins to bake: .*n-1 are not in force$/,
    ],
    [
      'is unhealthy at the first rejection',
      look(60, { rejected: new Map([['n-1', 1]]) }),
      'unhealthy',
      /^n-1: MetadataNoTokenRejected counted 1 since/,
    ],
    [
      'is unhealthy at the first failed Build',
      look(60, { failed }),
      'unhealthy',
      /^n-1: Build app\/b failed at/,
    ],
    ['is unhealthy whatever else is unknown', look(60, { failed, unknown: ['x'] }), 'unhealthy', /^n-1/],
    ['is unhealthy after its time too', look(900, { failed }), 'unhealthy', /^n-1/],
    [
      'goes on while something is unknown',
      look(900, { unknown: ['CloudWatch is silent'] }),
      'baking',
      /CloudWatch is silent$/,
    ],
    [
      'is not proven 30 minutes after its time',
      look(610 + 1800, { unknown: ['CloudWatch is silent'] }),
      'unproven',
      /^CloudWatch is silent$/,
    ],
    [
      'is not proven where its options never came',
      look(1800, { bakingSince: undefined as never, notInForce: ['n-1'] }),
      'unproven',
      /n-1 are not in force/,
    ],
    [
      'is not healthy while somebody has changed it',
      look(700, { notInForce: ['n-2'] }),
      'baking',
      /n-2 are not in force$/,
    ],
    [
      'goes on after its time while CloudWatch has measured nothing',
      look(610, { rejected: new Map(), measured: new Map([['n-1', []]]) }),
      'baking',
      /whether calls were rejected is not known of n-1: CloudWatch has neither/,
    ],
    [
      'goes on while only a period from before is measured, or one that is not over',
      look(899, { measured: new Map([['n-1', [at(0), at(600)]]]) }),
      'baking',
      /not known of n-1: CloudWatch has neither/,
    ],
    [
      'is healthy once the period is over',
      look(900, { measured: new Map([['n-1', [at(600)]]]) }),
      'healthy',
      /^/,
    ],
    [
      'wants it of each of them',
      look(610, {
        measured: new Map([
          ['n-1', [at(300)]],
          ['n-2', []],
        ]),
      }),
      'baking',
      /not known of n-2: CloudWatch has neither/,
    ],
    [
      'wants it of none where tokens were required before',
      look(610, { measured: new Map() }),
      'healthy',
      /^/,
    ],
    [
      'is not proven where nothing was measured 30 minutes after its time',
      look(610 + 1800, { measured: new Map([['n-1', []]]) }),
      'unproven',
      /not known of n-1: CloudWatch has neither MetadataNoTokenRejected nor CPUUtilization/,
    ],
    ['shows nothing where every node is gone', look(700, { nodes: [] }), 'vanished', /^$/],
  ])('%s', (_, seen, kind, words) => {
    const health = healthOf(seen);
    expect(health.kind).toBe(kind);
    expect('why' in health ? health.why : 'waitsFor' in health ? health.waitsFor : '').toMatch(words);
  });
});

describe('a Build that failed', () => {
  const failedPod = (status: object, more: object = {}) => ({
    ...build('b', { node: 'n' }),
    status: { phase: 'Failed' as const, ...status },
    ...more,
  });
  const ended = { containerStatuses: [{ state: { terminated: { finishedAt: instant(60) } } }] };
  const everything = (): boolean => true;

  it.each<[string, ReturnType<typeof failedPod>, string | undefined]>([
    ['at its container’s end', failedPod(ended), instant(60)],
    ['evicted by its node', failedPod({ ...ended, reason: 'Evicted' }), undefined],
    ['shut down with its node', failedPod({ ...ended, reason: 'NodeShutdown' }), undefined],
    ['disrupted', failedPod({ ...ended, conditions: [condition('DisruptionTarget', 'True')] }), undefined],
    ['that says nowhere when', failedPod({}), instant(-3600)],
    ['still running', { ...failedPod(ended), status: { phase: 'Running' as never } }, undefined],
  ])('%s', (_, pod, when) => {
    expect(failedAt(pod, everything)).toBe(when);
  });

  it('is no Build where the selector leaves it out, or its owner runs it again', () => {
    expect(failedAt(failedPod(ended), () => false)).toBeUndefined();
    const pod = failedPod(ended);
    pod.metadata.ownerReferences = [{ kind: 'ReplicaSet', name: 'r', uid: 'u' } as never];
    expect(failedAt(pod, everything)).toBeUndefined();
  });
});
