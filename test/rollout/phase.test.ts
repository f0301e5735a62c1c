/** How far Karpenter is with the class. */
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../rollout/kubernetes.ts';
import { phaseOf, type Phase } from '../../rollout/phase.ts';
import type { RolloutRecord } from '../../rollout/record.ts';
import { at, buildNode, condition, instant, nodeClass, record, type NodeGiven } from './given.ts';

interface Given {
  ready?: Condition;
  conditions?: Condition[];
  nodes?: NodeGiven[];
  record?: Partial<RolloutRecord>;
  now?: number;
  hash?: string;
}

/** A class at generation 2, patched at the start. */
function phase({ ready, conditions, nodes = [], now = 60, hash = 'new', ...given }: Given): Phase {
  const made = nodeClass({ hash, ...(ready && { ready }) });
  const fleet = {
    nodeClass: conditions ? { ...made, status: { conditions } } : made,
    nodes: nodes.map((each, index) => buildNode(`n-${index}`, each)),
  };
  return phaseOf(fleet, record({ patchedAt: instant(0), hashBefore: 'old', ...given.record }), at(now));
}

const ready = (status: Condition['status'], more: Partial<Condition> = {}): Condition =>
  condition('Ready', status, { observedGeneration: 2, ...more });

describe('behind', () => {
  it.each<[string, Given, string]>([
    [
      'Karpenter has not looked at the generation',
      { ready: ready('True', { observedGeneration: 1 }) },
      'at generation 1',
    ],
    ['nor refused it', { ready: ready('False', { observedGeneration: 1 }) }, 'at generation 1'],
    ['Karpenter never looked', { conditions: [] }, 'never'],
  ])('%s', (_, given, seen) => {
    expect(phase(given)).toEqual({
      kind: 'behind',
      why: `Karpenter has looked at EC2NodeClass build ${seen}, and it is at 2: Karpenter may not be running`,
    });
    expect(phase({ ...given, now: 7 * 86_400 }).kind).toBe('behind');
  });

  it('is not what a condition without a generation says', () => {
    expect(phase({ ready: condition('Ready', 'True') })).toEqual({ kind: 'settled' });
  });
});

describe('not Ready', () => {
  it('since it turned so, or since the patch where that is later', () => {
    const turned = (lastTransitionTime: string): Given => ({ ready: ready('False', { lastTransitionTime }) });
    expect(phase(turned(instant(30)))).toMatchObject({ kind: 'notReady', since: at(30), refused: true });
    expect(phase(turned(instant(-900)))).toMatchObject({ kind: 'notReady', since: at(0) });
    expect(
      phase({ ...turned(instant(30)), record: { takingBack: { since: instant(45), why: '' } } }),
    ).toMatchObject({
      since: at(45),
    });
  });

  it('is refused where it says False, and not where it says Unknown', () => {
    expect(phase({ ready: ready('Unknown') })).toMatchObject({ kind: 'notReady', refused: false });
  });

  it('names the conditions that fail, in Karpenter’s words', () => {
    const failing = condition('ValidationSucceeded', 'False', {
      reason: 'CreateFleetAuthCheckFailed',
      message: 'denied',
    });
    expect(phase({ conditions: [failing, condition('SubnetsReady', 'True'), ready('False')] })).toMatchObject(
      {
        why: 'EC2NodeClass build is not Ready: ValidationSucceeded=False CreateFleetAuthCheckFailed: denied',
      },
    );
    expect(phase({ conditions: [ready('False', { reason: 'Why' })] })).toMatchObject({
      why: 'EC2NodeClass build is not Ready: Ready=False Why',
    });
  });
});

describe('Ready', () => {
  it.each<[string, Given, Phase['kind']]>([
    ['hash and drift of the class as it is', { nodes: [{}, { hash: 'old', drifted: true }] }, 'settled'],
    ['the hash is still that of before', { hash: 'old' }, 'settling'],
    ['the hash is still that of before, just short of ten minutes', { hash: 'old', now: 600 }, 'settling'],
    [
      'the hash is still that of before after ten minutes: it does not change',
      { hash: 'old', now: 600.001 },
      'settled',
    ],
    ['no hash was there before', { record: { hashBefore: undefined } as never }, 'settled'],
    ['a node of the class still counts as drifted from it', { nodes: [{ drifted: true }] }, 'settling'],
    ['for long', { nodes: [{ drifted: true }], now: 601 }, 'settled'],
    ['a node of the class drifted for another reason', { nodes: [{ drifted: 'AMIDrift' }] }, 'settled'],
    ['nothing was ever patched', { record: { patchedAt: undefined } as never, hash: 'old' }, 'settled'],
  ])('%s', (_, given, kind) => {
    expect(phase(given).kind).toBe(kind);
  });

  it('counts from the taking back, once there is one', () => {
    const takingBack = { since: instant(3600), why: '' };
    expect(phase({ hash: 'old', now: 3700 }).kind).toBe('settled');
    expect(phase({ hash: 'old', now: 3700, record: { takingBack } }).kind).toBe('settling');
  });

  it('counts from the last patch, where the class was patched again', () => {
    const lastPatchAt = instant(3600);
    expect(phase({ hash: 'old', now: 3700, record: { lastPatchAt } }).kind).toBe('settling');
    expect(phase({ hash: 'old', now: 4201, record: { lastPatchAt } }).kind).toBe('settled');
    const turned = ready('False', { lastTransitionTime: instant(30) });
    expect(phase({ ready: turned, now: 3700, record: { lastPatchAt } })).toMatchObject({ since: at(3600) });
  });

  it('names the nodes that it waits for', () => {
    const nodes = Array.from({ length: 5 }, () => ({ drifted: true }));
    expect(phase({ nodes })).toMatchObject({ why: 'n-0, n-1, n-2 still drifted from the class of before' });
  });
});
