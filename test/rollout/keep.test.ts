/** Carrying the table out: which patches are due, and how many a step writes. */
import type { MergePatch } from '../../rollout/kubernetes.ts';
import type { Entry } from '../../rollout/journal.ts';
import { describe, expect, it } from 'vitest';
import { BOTH, CORDON, NOTHING, PROTECT, type Hold, type Want } from '../../rollout/hold.ts';
import { duePatches, keep, WRITES_A_STEP } from '../../rollout/keep.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import { DO_NOT_DISRUPT, HOLD_ANNOTATION } from '../../rollout/naming.ts';
import { buildNode, instant, START, type NodeGiven } from './given.ts';

const HELD: Hold = { rollout: 'r', before: { doNotDisrupt: null, unschedulable: false } };
const protectedBy = (hold: Hold): NodeGiven => ({ hold, annotations: { [DO_NOT_DISRUPT]: 'true' } });
const due = (node: BuildNode, want: Want, rollout: string | undefined = 'r') =>
  duePatches([{ node, want, why: 'because' }], rollout, START).map(({ kind, name }) => `${kind} ${name}`);

describe('what is due', () => {
  it('is a patch of the node, once there is one', () => {
    expect(due(buildNode('n'), PROTECT)).toEqual(['Node n']);
    expect(due(buildNode('n', protectedBy(HELD)), PROTECT)).toEqual([]);
    expect(due(buildNode('n'), NOTHING)).toEqual([]);
  });

  it('is a patch of the NodeClaim before', () => {
    expect(due(buildNode('n', { registered: false }), PROTECT)).toEqual(['NodeClaim claim-of-n']);
    expect(due(buildNode('n', { registered: false, ...protectedBy(HELD) }), PROTECT)).toEqual([]);
    expect(due(buildNode('n', { registered: false, ...protectedBy(HELD) }), NOTHING)).toEqual([
      'NodeClaim claim-of-n',
    ]);
    expect(due(buildNode('n', { registered: false }), NOTHING)).toEqual([]);
  });

  it('clears the NodeClaim of a node that has registered, after the node is held as it is to be', () => {
    const node = buildNode('n', protectedBy(HELD));
    const { claim } = buildNode('n', { registered: false, ...protectedBy(HELD) });
    const both: BuildNode = { ...node, ...(claim && { claim }) };
    expect(due(both, CORDON)).toEqual(['Node n']);
    expect(due(both, PROTECT)).toEqual(['NodeClaim claim-of-n']);
  });

  it('keeps the name of the rollout that held it, for whoever has none', () => {
    const node = buildNode('n', protectedBy(HELD));
    const [patch] = duePatches([{ node, want: BOTH, why: '' }], undefined, START);
    expect(JSON.stringify(patch?.patch)).toContain(String.raw`{\"rollout\":\"r\"`);
    const free = duePatches([{ node: buildNode('n'), want: BOTH, why: '' }], undefined, START);
    expect(JSON.stringify(free[0]?.patch)).toContain('reconcile');
    expect(Object.keys((free[0]?.patch['metadata'] as { annotations: object }).annotations)).toContain(
      HOLD_ANNOTATION,
    );
  });
});

describe('what a step writes', () => {
  const many = (count: number) =>
    duePatches(
      Array.from({ length: count }, (_, index) => ({
        node: buildNode(`n-${index}`),
        want: BOTH,
        why: 'because',
      })),
      'r',
      START,
    );
  const clock = { now: () => START };
  const noPage = async (): Promise<void> => undefined;

  it('says what it held and why', async () => {
    const kept = await keep({ clock }, { tryPatch: async () => true }, many(1), noPage);
    expect(kept).toEqual({
      entries: [
        { what: 'hold', at: instant(0), node: 'n-0', protected: true, cordoned: true, why: 'because' },
      ],
      left: 0,
    });
  });

  it('dates each cordon at its own write', async () => {
    const dates: string[] = [];
    let seconds = 0;
    const ticking = { now: () => new Date(START.getTime() + 1000 * (seconds += 1)) };
    const tryPatch = async (_kind: string, _name: string, patch: MergePatch): Promise<boolean> => {
      dates.push(/cordonedAt\\":\\"([^\\]+)/.exec(JSON.stringify(patch))?.[1] ?? 'none');
      return true;
    };
    await keep({ clock: ticking }, { tryPatch }, many(3), noPage);
    expect(new Set(dates).size).toBe(3);
  });

  it('leaves what changed meanwhile to the next', async () => {
    const kept = await keep({ clock }, { tryPatch: async (_kind, name) => name !== 'n-1' }, many(3), noPage);
    expect(kept.entries).toHaveLength(2);
    expect(kept.left).toBe(1);
  });

  it('is bounded, and says how much is left', async () => {
    const written: string[] = [];
    const tryPatch = async (_kind: string, name: string): Promise<boolean> => {
      written.push(name);
      return true;
    };
    const kept = await keep({ clock }, { tryPatch }, many(WRITES_A_STEP + 7), noPage);
    expect(written).toHaveLength(WRITES_A_STEP);
    expect(kept.left).toBe(7);
  });

  it('stops where the rollout may not write any more, and keeps the evidence of what it wrote', async () => {
    const pages: string[][] = [];
    const tryPatch = async (_kind: string, name: string): Promise<boolean> => {
      if (name === 'n-2') throw new Error('lost');
      return true;
    };
    const page = async (entries: Entry[]): Promise<void> => {
      pages.push(entries.map((entry) => (entry.what === 'hold' ? entry.node : entry.what)));
    };
    await expect(keep({ clock }, { tryPatch }, many(3), page)).rejects.toThrow('lost');
    expect(pages).toEqual([['n-0', 'n-1']]);
  });
});
