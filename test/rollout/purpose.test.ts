/** What a rollout is for, and which changes need a person. */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../rollout/desired.ts';
import type { AllOptions } from '../../rollout/options.ts';
import { baselineOf, needsApproval, purposeOf, standing } from '../../rollout/purpose.ts';
import type { Options, RolloutRecord } from '../../rollout/record.ts';
import { instant, nodeClass, record, rolling } from './given.ts';

const STRICT: Options = { httpTokens: 'required', httpPutResponseHopLimit: 1 };
const asks = (ask: Options, classWriter: Policy['classWriter'] = 'service') => ({
  ask,
  policy: { classWriter },
});

describe('the purpose', () => {
  it('is what is asked, where nothing was owned before', () => {
    expect(purposeOf(asks({ httpTokens: 'required' }), record(), 'uid')).toMatchObject({
      target: { httpTokens: 'required' },
      restoring: [],
    });
  });

  it('gives back what nobody asks for any more, and only that', () => {
    const owned = record({ baseline: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } });
    expect(purposeOf(asks({ httpTokens: 'required' }), owned, 'uid')).toMatchObject({
      target: { httpTokens: 'required', httpPutResponseHopLimit: 3 },
      restoring: ['httpPutResponseHopLimit'],
    });
    expect(purposeOf(asks({}), owned, 'uid')).toMatchObject({
      target: { httpTokens: 'optional', httpPutResponseHopLimit: 3 },
      restoring: ['httpTokens', 'httpPutResponseHopLimit'],
    });
  });

  it('gives nothing back where somebody else writes the class', () => {
    const owned = record({ baseline: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } });
    expect(purposeOf(asks({ httpTokens: 'required' }, 'external'), owned, 'uid')).toMatchObject({
      target: { httpTokens: 'required' },
      restoring: [],
    });
  });

  it('knows nothing of the baseline of a class that was deleted and made again', () => {
    const other = record({ classUid: 'old', baseline: { httpTokens: 'optional' } });
    expect(baselineOf(other, 'new')).toEqual({});
    expect(baselineOf(other, 'old')).toEqual({ httpTokens: 'optional' });
    expect(purposeOf(asks({}), other, 'new')).toMatchObject({ target: {}, restoring: [] });
  });

  it('knows the baseline of a class that the pool comes back to', () => {
    const left = [{ class: 'build', uid: 'first', baseline: { httpTokens: 'optional' } as const }];
    const moved = record({ classUid: 'second', baseline: { httpPutResponseHopLimit: 3 }, left });
    expect(baselineOf(moved, 'first')).toEqual({ httpTokens: 'optional' });
    expect(baselineOf(moved, 'second')).toEqual({ httpPutResponseHopLimit: 3 });
  });
});

describe('the generation', () => {
  const generation = (ask: Options, uid = 'uid', baseline: Options = {}): string =>
    purposeOf(asks(ask), record({ baseline }), uid).generation;

  it('is the same for the same purpose, however it came about', () => {
    expect(generation(STRICT)).toBe(generation({ httpPutResponseHopLimit: 1, httpTokens: 'required' }));
    expect(generation({ httpTokens: 'required' }, 'uid', { httpTokens: 'optional' })).toBe(
      generation({ httpTokens: 'required' }),
    );
    expect(generation(STRICT)).toMatch(/^[0-9a-f]{12}$/);
  });

  it.each<[string, string]>([
    ['another value', generation({ ...STRICT, httpTokens: 'optional' })],
    ['another limit', generation({ ...STRICT, httpPutResponseHopLimit: 2 })],
    ['an option less', generation({ httpTokens: 'required' })],
    ['the other option', generation({ httpPutResponseHopLimit: 1 })],
    ['another class', generation(STRICT, 'other')],
    ['an option to give back', generation({ httpTokens: 'required' }, 'uid', { httpPutResponseHopLimit: 3 })],
  ])('differs with %s', (_, other) => {
    expect(other).not.toBe(generation(STRICT));
  });
});

describe('approval', () => {
  const policy = (approval: Policy['approval']): Policy => ({ ...rolling().policy, approval });
  const strict: AllOptions = { httpTokens: 'required', httpPutResponseHopLimit: 1 };
  const loose: AllOptions = { httpTokens: 'optional', httpPutResponseHopLimit: 3 };

  it.each<[Policy['approval'], AllOptions, Options, boolean]>([
    ['loosening', loose, strict, false],
    ['loosening', strict, strict, false],
    ['loosening', strict, { httpTokens: 'optional' }, true],
    ['loosening', strict, { httpPutResponseHopLimit: 2 }, true],
    ['loosening', loose, { httpTokens: 'required', httpPutResponseHopLimit: 4 }, true],
    ['loosening', loose, { httpTokens: 'required' }, false],
    ['never', strict, loose, false],
    ['always', loose, strict, true],
  ])('under %s from %j to %j: %s', (approval, from, to, needed) => {
    expect(needsApproval(policy(approval), [from], to) !== undefined).toBe(needed);
  });

  it('names what is loosened', () => {
    const why = (beside?: AllOptions) =>
      needsApproval(policy('loosening'), [loose, strict, strict], loose, beside);
    expect(why()).toBe('it loosens httpTokens required → optional and httpPutResponseHopLimit 1 → 3');
    expect(why(loose)).toBe('it loosens httpTokens required → optional and httpPutResponseHopLimit 1 → 3');
    expect(why(strict)).toBe('it loosens httpTokens and httpPutResponseHopLimit');
  });
});

describe('what stands against a looser ask', () => {
  const LOOSE: Options = { httpTokens: 'optional', httpPutResponseHopLimit: 10 };
  const underway = { patchedAt: instant(0), ask: STRICT };
  const takingBack = { since: instant(60), why: 'refused' };

  it.each<[string, Partial<RolloutRecord>, Policy['classWriter'], Options[]]>([
    ['what the class says', {}, 'service', [LOOSE]],
    ['what a rollout has patched it to', underway, 'service', [LOOSE, STRICT]],
    ['what the last one reached', { ask: STRICT, reached: STRICT }, 'service', [LOOSE, STRICT]],
    ['not what was asked and never patched', { ask: STRICT }, 'service', [LOOSE]],
    ['not what is being taken back', { ...underway, takingBack }, 'service', [LOOSE]],
    ['not what was reached in another class', { reached: STRICT, classUid: 'other' }, 'service', [LOOSE]],
    ['not where somebody else writes the class', { ...underway, reached: STRICT }, 'external', [LOOSE]],
  ])('%s', (_, remembered, classWriter, expected) => {
    const known = record({ classUid: 'class-uid', ...remembered });
    const found = standing({ classWriter }, known, nodeClass({ says: LOOSE }));
    expect(new Set(found.map((each) => JSON.stringify(each)))).toEqual(
      new Set(expected.map((each) => JSON.stringify(each))),
    );
  });
});
