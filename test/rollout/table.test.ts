/** The table of design, section 4: what is to hold each build node. */
import { describe, expect, it } from 'vitest';
import { BOTH, CORDON, NOTHING, PROTECT, type Hold, type Want } from '../../rollout/hold.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import type { Phase } from '../../rollout/phase.ts';
import { table, type TableInput } from '../../rollout/table.ts';
import { at, build, buildNode, fleetOf, instant, nodeClass, START, WRONG, type NodeGiven } from './given.ts';

const TARGET = { httpTokens: 'required', httpPutResponseHopLimit: 1 } as const;
const SETTLED: Phase = { kind: 'settled' };

/** A cordon of ours, so many seconds before the pods were listed. */
const cordoned = (age: number, more: Partial<Hold> = {}): NodeGiven => ({
  cordoned: true,
  hold: {
    rollout: 'r',
    before: { doNotDisrupt: null, unschedulable: false },
    cordonedAt: instant(-age),
    ...more,
  },
});
const BUSY: NodeGiven = { builds: [build('b', { node: 'n' })] };

function wants(nodes: BuildNode[], more: Partial<TableInput> = {}): Record<string, Want> {
  const input = {
    fleet: fleetOf(nodes),
    target: TARGET,
    phase: SETTLED,
    patchedAt: at(-600),
    now: START,
    ...more,
  };
  return Object.fromEntries(table(input).map(({ node, want }) => [node.name, want]));
}

/** What is wanted of one node; undefined where it is left as it is. */
const want = (given: NodeGiven, more: Partial<TableInput> = {}): Want | undefined =>
  Object.values(wants([buildNode('n', given)], more))[0];

describe('from just before a write of the class until it is Ready', () => {
  it.each<Phase>([
    { kind: 'behind', why: '' },
    { kind: 'notReady', why: '', since: START, refused: true },
    { kind: 'settling', why: '' },
  ])('protected, not cordoned, whoever it is: $kind', (phase) => {
    for (const given of [
      {},
      BUSY,
      { options: WRONG },
      { drifted: true },
      { options: null },
      cordoned(3600),
      { registered: false },
    ])
      expect(want(given, { phase })).toEqual(PROTECT);
  });
});

describe('to be replaced', () => {
  const replaced: [string, NodeGiven][] = [
    ['wrong in both', { options: WRONG }],
    ['wrong in one option', { options: { httpPutResponseHopLimit: 3 } }],
    ['pending', { options: { state: 'pending' } }],
    ['right, but Drifted', { drifted: true }],
    ['Drifted for another reason', { drifted: 'AMIDrift' }],
    ['of an older hash, so about to drift', { hash: 'old' }],
    ['endpoint off, and Drifted', { options: { httpEndpoint: 'disabled' }, drifted: true }],
    ['wrong, though its hash is current', { options: WRONG, hash: 'new' }],
  ];

  it.each(replaced)('%s: held both ways while it runs a Build', (_, given) => {
    expect(want({ ...given, ...BUSY })).toEqual(BOTH);
    expect(want({ ...given, ...BUSY, ...cordoned(3600) })).toEqual(BOTH);
  });

  it.each(replaced)('%s: cordoned alone where it runs none', (_, given) => {
    expect(want({ ...given, ...cordoned(3600) })).toEqual(CORDON);
  });

  it.each(replaced)('%s: other pods do not hold it', (_, given) => {
    expect(want({ ...given, ...cordoned(3600), pods: [build('cache', { node: 'n' })] })).toEqual(CORDON);
  });
});

describe('a protection is lifted only behind a cordon of 10 seconds', () => {
  it.each<[string, NodeGiven, Want]>([
    ['no cordon yet', {}, BOTH],
    ['just cordoned', cordoned(0), BOTH],
    ['9.999 s', cordoned(9.999), BOTH],
    ['10 s', cordoned(10), CORDON],
    ['a cordon of ours that somebody lifted', { ...cordoned(3600), cordoned: false }, BOTH],
    ['a cordon that is not ours', { cordoned: true }, BOTH],
    [
      'a cordon of ours over one that was there before',
      cordoned(10, { before: { doNotDisrupt: null, unschedulable: true } }),
      CORDON,
    ],
  ])('%s', (_, given, expected) => {
    expect(want({ options: WRONG, ...given })).toEqual(expected);
  });

  it('counted to when the pods were listed, not to when they are judged', () => {
    const node = buildNode('n', { options: WRONG, ...cordoned(5) });
    expect(wants([node], { now: at(60) })).toEqual({ n: BOTH });
    expect(wants([node], { fleet: fleetOf([node], { podsListedAt: at(5) }) })).toEqual({ n: CORDON });
  });
});

describe('right and not Drifted', () => {
  it.each<[string, NodeGiven]>([
    ['idle', {}],
    ['runs a Build', BUSY],
    ['held till now', cordoned(3600)],
    ['endpoint off', { options: { httpEndpoint: 'disabled', httpTokens: 'optional' } }],
    ['not owned, so not wrong', { options: { httpPutResponseHopLimit: 1 } }],
  ])('is not held: %s', (_, given) => {
    expect(want(given)).toEqual(NOTHING);
  });

  it.each([null, undefined])('is protected until Karpenter has compared it with the class (hash %s)', () => {
    expect(want({ hash: null })).toEqual(PROTECT);
    expect(want({ hash: null, ...BUSY })).toEqual(PROTECT);
  });
});

describe('what is unknown', () => {
  it.each<[string, NodeGiven]>([
    ['idle', {}],
    ['busy', BUSY],
    ['Drifted', { drifted: true }],
    ['behind an old cordon', cordoned(3600)],
    ['not registered, of the class as it is', { registered: false }],
  ])('is left as it is held: %s', (_, given) => {
    expect(want({ ...given, options: null })).toBeUndefined();
  });

  it('is protected where its launch may be from the class of before', () => {
    expect(want({ options: null, registered: false, hash: 'old' })).toEqual(PROTECT);
  });
});

describe('a NodeClaim that is not registered', () => {
  const coming = { registered: false, launched: false } as const;

  it.each<[string, NodeGiven, Want]>([
    ['of the class as it is', { ...coming }, NOTHING],
    ['launched from it', { registered: false }, NOTHING],
    ['of an older hash, made before the patch', { ...coming, hash: 'old' }, PROTECT],
    ['of no hash yet, made just before the patch', { ...coming, hash: null, createdAt: -601 }, PROTECT],
    [
      'of no hash yet, made within a minute of the patch',
      { ...coming, hash: null, createdAt: -541 },
      PROTECT,
    ],
    ['of no hash yet, made later', { ...coming, hash: null, createdAt: -539 }, NOTHING],
    ['launched with the options of before', { registered: false, options: WRONG, hash: 'old' }, PROTECT],
    ['launched with other options than its hash says', { registered: false, options: WRONG }, PROTECT],
  ])('%s', (_, given, expected) => {
    expect(want(given)).toEqual(expected);
  });
});

describe('left alone', () => {
  it('is what leaves, and what has neither node nor NodeClaim', () => {
    expect(want({ leaving: true, options: WRONG })).toBeUndefined();
    const { claim: _claim, node: _node, ...bare } = buildNode('i-1', { options: WRONG });
    expect(wants([bare])).toEqual({});
  });
});

describe('Builds that starve', () => {
  const waiting = (name: string, since: number, cpu = '1') => build(name, { waitingSince: since, cpu });
  const wrong = (name: string, more: NodeGiven = {}): BuildNode =>
    buildNode(name, { options: WRONG, hash: 'old', drifted: true, ...cordoned(3600), ...more });
  const lentTo = (pod: string): Want => ({ ...PROTECT, lentTo: pod });
  const lentNode = (name: string, pod: string, more: NodeGiven = {}): BuildNode =>
    wrong(name, {
      cordoned: false,
      hold: { rollout: 'r', before: { doNotDisrupt: null, unschedulable: false }, lentTo: pod },
      ...more,
    });
  const starving = (nodes: BuildNode[], ...pods: ReturnType<typeof build>[]): Record<string, Want> =>
    wants(nodes, { fleet: fleetOf(nodes, { waiting: pods }) });

  it('get one node that fits, uncordoned and protected, after four minutes', () => {
    expect(starving([wrong('n')], waiting('b', -239))).toEqual({ n: CORDON });
    expect(starving([wrong('n')], waiting('b', -240))).toEqual({ n: lentTo('app/b') });
    expect(starving([wrong('m'), wrong('n')], waiting('b', -240))).toEqual({ m: lentTo('app/b'), n: CORDON });
  });

  it('keep it until they are bound, and it is cordoned again then', () => {
    expect(starving([wrong('m'), lentNode('n', 'app/b')], waiting('b', -900))).toEqual({
      m: CORDON,
      n: lentTo('app/b'),
    });
    const bound = build('b', { node: 'n' });
    expect(starving([lentNode('n', 'app/b', { builds: [bound] })])).toEqual({ n: BOTH });
    expect(starving([lentNode('n', 'app/b')])).toEqual({ n: BOTH });
  });

  it('share a node that has room for them all, else get one more each', () => {
    const pods = [waiting('b', -300, '2'), waiting('c', -300, '2')];
    expect(starving([wrong('m'), wrong('n')], ...pods)).toEqual({ m: lentTo('app/b'), n: CORDON });
    const large = [waiting('b', -300, '3'), waiting('c', -300, '3')];
    expect(starving([wrong('m'), wrong('n')], ...large)).toEqual({ m: lentTo('app/b'), n: lentTo('app/c') });
  });

  it('get no room that the Build which it is lent to will take', () => {
    const nodes = [lentNode('n', 'app/b'), wrong('m')];
    const pods = [waiting('b', -600, '3'), waiting('c', -300, '3')];
    expect(starving(nodes, ...pods)).toEqual({ n: lentTo('app/b'), m: lentTo('app/c') });
  });

  it.each<[string, NodeGiven]>([
    ['is too small', { cpu: '500m' }],
    ['is full', { builds: [build('other', { node: 'n', cpu: '4' })] }],
    ['is not Ready', { ready: false }],
    ['leaves', { leaving: true }],
    [
      'was cordoned before us, and would stay so',
      cordoned(3600, { before: { doNotDisrupt: null, unschedulable: true } }),
    ],
    [
      'is cordoned by somebody else',
      { cordoned: true, hold: { rollout: 'r', before: { doNotDisrupt: null, unschedulable: true } } },
    ],
  ])('get no node that %s', (_, more) => {
    const nodes = [wrong('n', more), wrong('m')];
    expect(starving(nodes, waiting('b', -900))).toMatchObject({ m: lentTo('app/b') });
    expect(starving(nodes, waiting('b', -900))['n']?.lentTo).toBeUndefined();
  });

  it('get a busy node too, where it has room', () => {
    const busy = wrong('n', { builds: [build('other', { node: 'n', cpu: '1' })] });
    expect(starving([busy], waiting('b', -900))).toEqual({ n: lentTo('app/b') });
  });

  it('get the node that is right already before one that is wrong', () => {
    const right = wrong('z', { options: {} });
    expect(starving([wrong('a'), right], waiting('b', -900))).toEqual({ a: CORDON, z: lentTo('app/b') });
  });

  it.each<[string, NodeGiven]>([
    ['another Build took its room', { builds: [build('thief', { node: 'n', cpu: '4' })] }],
    ['it leaves', { leaving: true }],
  ])('get another node where theirs serves them no more: %s', (_, more) => {
    const nodes = [lentNode('n', 'app/b', more), wrong('m')];
    expect(starving(nodes, waiting('b', -900))).toMatchObject({ m: lentTo('app/b') });
  });

  it('get none while the class is not Ready: nothing is cordoned then', () => {
    const nodes = [wrong('n')];
    const fleet = fleetOf(nodes, { waiting: [waiting('b', -900)], nodeClass: nodeClass() });
    expect(wants(nodes, { fleet, phase: { kind: 'behind', why: '' } })).toEqual({ n: PROTECT });
  });
});
