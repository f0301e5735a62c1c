/** Holds: one patch, nothing written twice, and what was there before comes back exactly. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  holdClaim,
  holdNode,
  holdOn,
  isCordoned,
  isProtected,
  type Hold,
  type Want,
} from '../../rollout/hold.ts';
import { BOTH, CORDON, NOTHING, PROTECT } from '../../rollout/hold.ts';
import type { Node, NodeClaim } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT, HOLD_ANNOTATION } from '../../rollout/naming.ts';
import { at, instant, meta, patched, START } from './given.ts';

const LENT: Want = { ...PROTECT, lentTo: 'app/build-1' };

const nodeWith = (annotations?: Record<string, string>, unschedulable?: boolean): Node => ({
  kind: 'Node',
  metadata: meta('n', annotations && { annotations }),
  spec: { providerID: 'aws:///eu-west-1a/i-1', ...(unschedulable !== undefined && { unschedulable }) },
});

const holdOf = (node: Node): Hold => {
  const hold = holdOn(node);
  if (hold === undefined) throw new Error('there is no hold');
  return hold;
};

/** The node after everything that is wanted of it, in order, a second apart. */
const heldBy = (node: Node, ...wants: Want[]): Node =>
  wants.reduce((held, want, index) => patched(held, holdNode(held, want, 'r', at(index))), node);

/** All that a release has to bring back: everything but the resourceVersion, with absent and empty alike. */
const state = ({ metadata, spec }: Node): unknown => ({
  metadata: { ...metadata, resourceVersion: '', annotations: metadata.annotations ?? {} },
  spec: { ...spec, unschedulable: spec.unschedulable ?? false },
});

describe('a hold', () => {
  it.each<[string, Want, { protected: boolean; cordoned: boolean }]>([
    ['protect', PROTECT, { protected: true, cordoned: false }],
    ['cordon', CORDON, { protected: false, cordoned: true }],
    ['both', BOTH, { protected: true, cordoned: true }],
    ['lent', LENT, { protected: true, cordoned: false }],
  ])('%s', (_, want, expected) => {
    const held = heldBy(nodeWith(), want);
    expect({ protected: isProtected(held), cordoned: isCordoned(held) }).toEqual(expected);
    expect(holdOf(held)).toEqual({
      rollout: 'r',
      before: { doNotDisrupt: null, unschedulable: false },
      since: instant(0),
      ...(want.cordon && { cordonedAt: instant(0) }),
      ...(want.lentTo !== undefined && { lentTo: want.lentTo }),
    });
  });

  it('is one patch, guarded by the version that was read', () => {
    expect(holdNode(nodeWith(), BOTH, 'r', START)).toEqual({
      metadata: {
        resourceVersion: '1',
        annotations: { [DO_NOT_DISRUPT]: 'true', [HOLD_ANNOTATION]: expect.any(String) as string },
      },
      spec: { unschedulable: true },
    });
  });

  it('protects with exactly "true", which is all that Karpenter takes on a node', () => {
    expect(isProtected(nodeWith({ [DO_NOT_DISRUPT]: '30m' }))).toBe(false);
    expect(isProtected(heldBy(nodeWith({ [DO_NOT_DISRUPT]: '30m' }), PROTECT))).toBe(true);
  });

  it('is nothing where nothing is wanted and nothing is ours', () => {
    for (const node of [nodeWith(), nodeWith({ [DO_NOT_DISRUPT]: 'true' }, true)])
      expect(holdNode(node, NOTHING, 'r', START)).toBeUndefined();
  });

  it.each<[string, Want[]]>([
    ['released', [NOTHING]],
    ['cordoned by us as well', [CORDON, BOTH, NOTHING]],
    ['lent', [LENT, NOTHING]],
  ])('that places no cordon leaves the one that somebody placed beside it: %s', (_, wants) => {
    const held = heldBy(nodeWith(), PROTECT);
    const released = heldBy({ ...held, spec: { ...held.spec, unschedulable: true } }, ...wants);
    expect([holdOn(released), isCordoned(released)]).toEqual([undefined, true]);
  });

  it('remembers what was before the first of them alone', () => {
    const held = heldBy(nodeWith({ [DO_NOT_DISRUPT]: 'false' }, true), PROTECT, BOTH, CORDON, LENT);
    expect(holdOf(held).before).toEqual({ doNotDisrupt: 'false', unschedulable: true });
  });

  it('of another rollout goes on as the new one’s, with what was before', () => {
    const node = heldBy(nodeWith({ [DO_NOT_DISRUPT]: 'false' }), BOTH);
    const taken = patched(node, holdNode(node, BOTH, 'r2', at(60)));
    expect(holdOf(taken)).toEqual({
      rollout: 'r2',
      before: { doNotDisrupt: 'false', unschedulable: false },
      since: instant(0),
      cordonedAt: instant(0),
    });
  });

  it('leaves a cordon that was there before, and says in its own when it began', () => {
    const node = nodeWith(undefined, true);
    expect(isCordoned(heldBy(node, PROTECT))).toBe(true);
    expect(holdOf(heldBy(node, PROTECT)).cordonedAt).toBeUndefined();
    expect(holdOf(heldBy(node, PROTECT, CORDON)).cordonedAt).toBe(instant(1));
  });

  it.each<[string, Want[], string | undefined]>([
    ['stays while the cordon does', [CORDON, BOTH, CORDON], instant(0)],
    ['begins anew after it was lifted', [CORDON, PROTECT, CORDON], instant(2)],
    ['begins anew after the node was lent', [BOTH, LENT, BOTH], instant(2)],
    ['is not said without one', [BOTH, PROTECT], undefined],
  ])('the age of a cordon %s', (_, wants, cordonedAt) => {
    expect(holdOf(heldBy(nodeWith(), ...wants)).cordonedAt).toBe(cordonedAt);
  });

  it('whose cordon somebody lifted by hand is cordoned again, as new', () => {
    const node = heldBy(nodeWith(), CORDON);
    const uncordoned = { ...node, spec: {} };
    const again = patched(uncordoned, holdNode(uncordoned, CORDON, 'r', at(60)));
    expect(isCordoned(again)).toBe(true);
    expect(holdOf(again).cordonedAt).toBe(instant(60));
  });

  it('whose protection somebody took by hand is protected again', () => {
    const node = heldBy(nodeWith(), PROTECT);
    const bare = {
      ...node,
      metadata: { ...node.metadata, annotations: { [HOLD_ANNOTATION]: JSON.stringify(holdOf(node)) } },
    };
    expect(isProtected(heldBy(bare, PROTECT))).toBe(true);
  });

  it.each([
    '{',
    '{}',
    'null',
    '"x"',
    '{"rollout":"r"}',
    '{"rollout":"r","before":{"doNotDisrupt":1,"unschedulable":false}}',
  ])('that cannot be read (%s) is a hold all the same, and leaves nothing behind', (text) => {
    const node = nodeWith({ [HOLD_ANNOTATION]: text, [DO_NOT_DISRUPT]: 'true' }, true);
    expect(holdOn(node)).toBeDefined();
    const released = heldBy(node, NOTHING);
    expect(released.metadata.annotations).toEqual({});
    expect(isCordoned(released)).toBe(false);
  });
});

const annotationValue = fc.constantFrom('true', 'false', '30m', '');
const anyNode = fc
  .record({
    doNotDisrupt: fc.option(annotationValue, { nil: undefined }),
    foreign: fc.option(fc.string(), { nil: undefined }),
    annotated: fc.boolean(),
    unschedulable: fc.constantFrom(undefined, false, true),
  })
  .map(({ doNotDisrupt, foreign, annotated, unschedulable }) =>
    nodeWith(
      annotated || doNotDisrupt !== undefined || foreign !== undefined
        ? {
            ...(doNotDisrupt !== undefined && { [DO_NOT_DISRUPT]: doNotDisrupt }),
            ...(foreign !== undefined && { 'example.com/foreign': foreign }),
          }
        : undefined,
      unschedulable,
    ),
  );
const anyWant = fc.constantFrom(PROTECT, CORDON, BOTH, LENT, { ...PROTECT, lentTo: 'app/build-2' }, NOTHING);

describe('whatever was before, and in whatever order it is held', () => {
  it('comes back exactly with the release', () => {
    fc.assert(
      fc.property(anyNode, fc.array(anyWant, { maxLength: 8 }), (node, wants) => {
        expect(state(heldBy(node, ...wants, NOTHING))).toEqual(state(node));
      }),
    );
  });

  it('is as wanted after each patch, and nothing is written twice', () => {
    fc.assert(
      fc.property(anyNode, fc.array(anyWant, { minLength: 1, maxLength: 8 }), (node, wants) => {
        const held = heldBy(node, ...wants);
        const want = wants.at(-1) ?? NOTHING;
        expect(holdNode(held, want, 'r', at(1000))).toBeUndefined();
        const { doNotDisrupt } = holdOn(held)?.before ?? {
          doNotDisrupt: node.metadata.annotations?.[DO_NOT_DISRUPT],
        };
        expect(isProtected(held)).toBe(want.protect || doNotDisrupt === 'true');
        expect(isCordoned(held)).toBe(want.cordon || isCordoned(node));
      }),
    );
  });

  it('touches nothing that is not ours', () => {
    fc.assert(
      fc.property(anyNode, anyWant, anyWant, (node, one, other) => {
        const held = heldBy(node, one);
        const patch = holdNode(held, other, 'r', at(60)) ?? {};
        const { annotations = {}, ...metadata } = (patch['metadata'] ?? {}) as Record<string, object>;
        expect(Object.keys(patch).filter((key) => key !== 'metadata' && key !== 'spec')).toEqual([]);
        expect(Object.keys(metadata).filter((key) => key !== 'resourceVersion')).toEqual([]);
        expect(
          Object.keys(annotations).filter((key) => key !== DO_NOT_DISRUPT && key !== HOLD_ANNOTATION),
        ).toEqual([]);
        expect(Object.keys(patch['spec'] ?? {}).filter((key) => key !== 'unschedulable')).toEqual([]);
      }),
    );
  });
});

describe('on a NodeClaim that is not registered', () => {
  const claimWith = (annotations?: Record<string, string>): NodeClaim => ({
    kind: 'NodeClaim',
    metadata: meta('c', annotations && { annotations }),
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'build' } },
  });
  const held = (claim: NodeClaim, protect: boolean): NodeClaim =>
    patched(claim, holdClaim(claim, protect, 'r', START));

  it.each([undefined, {}, { [DO_NOT_DISRUPT]: '30m' }, { [DO_NOT_DISRUPT]: 'true', other: 'x' }])(
    'protects, is written once, and releases to what was before: %j',
    (annotations) => {
      const claim = claimWith(annotations);
      const once = held(claim, true);
      expect(isProtected(once)).toBe(true);
      expect(holdOn(once)?.before).toEqual({
        doNotDisrupt: annotations?.[DO_NOT_DISRUPT] ?? null,
        unschedulable: false,
      });
      expect(holdClaim(once, true, 'r', at(60))).toBeUndefined();
      expect(held(once, false).metadata.annotations ?? {}).toEqual(annotations ?? {});
      expect(holdClaim(claim, false, 'r', START)).toBeUndefined();
    },
  );

  it('is a hold of the node to which Karpenter copies it, with what was before', () => {
    const annotations = held(claimWith({ [DO_NOT_DISRUPT]: '30m' }), true).metadata.annotations ?? {};
    const registered = nodeWith(annotations);
    expect(holdNode(registered, PROTECT, 'r', START)).toBeUndefined();
    expect(heldBy(registered, BOTH, NOTHING).metadata.annotations).toEqual({ [DO_NOT_DISRUPT]: '30m' });
  });
});
