/** What comes after a look. */
import { describe, expect, it } from 'vitest';
import { nextOf } from '../../rollout/progress.ts';
import type { Concluding, Rolling } from '../../rollout/state.ts';
import { instant, record, rolling } from './given.ts';
import { BEHIND, counts, look, next, notReady, type Policy } from './looks.ts';
import type { Look } from '../../rollout/progress.ts';

describe('compliance', () => {
  it('is success where nobody is held with a Build', () => {
    expect(next(look(600))).toMatchObject({
      next: 'conclude',
      outcome: 'Succeeded',
      reason: 'all 3 build instances are as desired',
      compliantAt: instant(600),
    });
  });

  it('counts instances apart whose endpoint is off', () => {
    expect(next(look(600, { counts: { ...counts, off: 2 } }))).toMatchObject({
      reason: 'all 3 build instances are as desired, 2 with their endpoint off',
    });
  });

  it.each<[string, Partial<Look>]>([
    ['one is wrong', { wrong: ['a'] }],
    ['one is unknown', { unknown: ['a'] }],
    ['EC2 did not answer', { instancesKnown: false, unknown: ['a'] }],
    ['the class is not Ready', { phase: notReady(599) }],
    ['Karpenter is behind', { phase: BEHIND }],
    ['hash or drift are of before', { phase: { kind: 'settling', why: '' } }],
    ['a hold is due', { left: 1 }],
    ['a cordon is too young', { unsettledCordons: true }],
    ['a held node runs a Build', { busy: ['a (app/b)'] }],
  ])('is no success yet: %s', (_, more) => {
    expect(next(look(600, more)).next).toBe('look');
  });

  it('starts over where an instance turns wrong again', () => {
    expect(next(look(900, { busy: ['a'] }), { state: { compliantAt: instant(600) } })).toMatchObject({
      compliantAt: instant(600),
    });
    expect(next(look(900, { wrong: ['a'] }), { state: { compliantAt: instant(600) } })).not.toHaveProperty(
      'compliantAt',
    );
  });

  it('waits until functions of the rollout before have ended', () => {
    const takenOverAt = instant(500);
    expect(next(look(600), { record: { takenOverAt } })).toMatchObject({ next: 'look', lookAgainIn: 20 });
    expect(next(look(620), { record: { takenOverAt } })).toMatchObject({ next: 'conclude' });
  });

  it('carries where it goes on if it is found to be none', () => {
    expect(next(look(600))).toMatchObject({ unlessCompliant: { next: 'look', generation: 'abcdef012345' } });
    expect(next(look(3600, { wrong: ['a'] }), { policy: { stragglers: 'fail' } })).not.toHaveProperty(
      'unlessCompliant',
    );
  });
});

describe('draining', () => {
  const busy = ['a (app/b)', 'c (app/d)'];
  const since = { state: { compliantAt: instant(600) } };

  it('goes on while a held node runs a Build, until the time-out from compliance', () => {
    const policy = { drainTimeout: 3600 };
    expect(next(look(4199, { busy }), { ...since, policy })).toMatchObject({
      next: 'look',
      lookAgainIn: 1,
      waitsFor: 'Builds on held nodes: a (app/b), c (app/d)',
    });
    expect(next(look(4200, { busy }), { ...since, policy })).toMatchObject({
      outcome: 'Succeeded',
      reason:
        'all 3 build instances are as desired; at the drain time-out these still ran Builds and stay held: a (app/b), c (app/d)',
    });
  });

  it('is not prolonged by an instance that is unknown for one look', () => {
    const policy = { drainTimeout: 3600 };
    const steps: Partial<Look>[] = [{ busy }, { busy, unknown: ['new'] }, { busy }, { busy }];
    let state: Rolling | Concluding = rolling();
    for (const [index, more] of steps.entries()) {
      const seconds = 600 + 1200 * index;
      if (state.next === 'look')
        state = next(look(seconds, more), { policy, state: { ...state, wholeLookAt: instant(seconds) } });
    }
    expect(state).toMatchObject({ outcome: 'Succeeded', compliantAt: instant(3000) });
  });

  it('is not waited for with a time-out of 0', () => {
    expect(next(look(600, { busy }), { policy: { drainTimeout: 0 } })).toMatchObject({
      outcome: 'Succeeded',
    });
  });
});

describe('at the deadline', () => {
  const wrong = ['a', 'b'];

  it('counts from the patch, and not from the start or the execution', () => {
    expect(next(look(3599, { wrong })).next).toBe('look');
    expect(next(look(3600, { wrong })).next).toBe('modify-stragglers');
    expect(next(look(3600, { wrong }), { state: { patchedAt: instant(60) } }).next).toBe('look');
    expect(next(look(60, { wrong }), { policy: { deadline: 60 } }).next).toBe('modify-stragglers');
  });

  it('is not slept through', () => {
    expect(next(look(3590.5, { wrong }))).toMatchObject({ next: 'look', lookAgainIn: 10 });
  });

  it('modifies what is wrong, and nothing where nothing is', () => {
    expect(next(look(3600, { wrong }))).toMatchObject({
      lookAgainIn: 0,
      waitsFor: 'live modification of a, b',
    });
    expect(next(look(3600, { unknown: ['a'] })).next).toBe('look');
    expect(next(look(3600)).next).toBe('conclude');
  });

  it('modifies while Karpenter is behind or the class not Ready, too', () => {
    expect(next(look(3600, { wrong, phase: BEHIND })).next).toBe('modify-stragglers');
    expect(next(look(3600, { wrong, phase: notReady(3500) })).next).toBe('modify-stragglers');
  });

  it('asks EC2 less often where it accepts nothing, and looks between', () => {
    const after = (seconds: number, refused: number): string =>
      next(look(3600 + seconds, { wrong }), { state: { bucket: { tokens: 0, at: instant(3600), refused } } })
        .next;
    expect(after(5, 0)).toBe('modify-stragglers');
    expect(after(19, 1)).toBe('look');
    expect(after(20, 1)).toBe('modify-stragglers');
    expect(after(599, 20)).toBe('look');
    expect(after(600, 20)).toBe('modify-stragglers');
  });

  it('gives up at the drain time-out after it, with the names', () => {
    const policy = { drainTimeout: 7200 };
    expect(next(look(10_799, { wrong }), { policy }).next).toBe('modify-stragglers');
    expect(next(look(10_800, { wrong }), { policy })).toMatchObject({
      outcome: 'Failed',
      reason: 'still wrong at the drain time-out: a, b',
    });
  });

  it('modifies before it gives up, however short the drain time-out is', () => {
    expect(next(look(3600, { wrong }), { policy: { drainTimeout: 0 } }).next).toBe('modify-stragglers');
    expect(next(look(3700, { wrong }), { policy: { drainTimeout: 0 } }).next).toBe('modify-stragglers');
  });

  it('modifies before it gives up, however long after the drain time-out somebody retries', () => {
    const retried = { policy: { drainTimeout: 7200 }, state: { startedAt: instant(20_000) } };
    expect(next(look(20_005, { wrong }), retried).next).toBe('modify-stragglers');
    expect(next(look(21_799, { wrong }), retried).next).toBe('modify-stragglers');
    expect(next(look(21_800, { wrong }), retried)).toMatchObject({ outcome: 'Failed' });
  });

  it('fails where that is asked for, with the names', () => {
    expect(next(look(3599, { wrong }), { policy: { stragglers: 'fail' } }).next).toBe('look');
    expect(next(look(3600, { wrong }), { policy: { stragglers: 'fail' } })).toMatchObject({
      outcome: 'Failed',
      reason: 'still wrong at the deadline: a, b',
    });
  });

  it('waits where that is asked for, until the drain time-out after it', () => {
    const policy: Policy = { stragglers: 'wait', drainTimeout: 7200 };
    expect(next(look(3600, { wrong }), { policy }).next).toBe('look');
    expect(next(look(10_799, { wrong }), { policy }).next).toBe('look');
    expect(next(look(10_800, { wrong }), { policy })).toMatchObject({
      outcome: 'Failed',
      reason: 'still wrong at the drain time-out: a, b',
    });
  });
});

describe('strategy immediate', () => {
  const wrong = ['a'];

  it.each<Rolling['policy']['stragglers']>(['modify', 'wait', 'fail'])(
    'modifies whatever is wrong once the class is Ready, then is as graceful (stragglers: %s)',
    (stragglers) => {
      const policy: Policy = { strategy: 'immediate', stragglers };
      expect(next(look(30, { wrong }), { policy }).next).toBe('modify-stragglers');
      expect(next(look(30, { wrong, phase: BEHIND }), { policy }).next).toBe('look');
      expect(next(look(3599, { wrong }), { policy }).next).toBe('modify-stragglers');
      const atDeadline = { modify: 'modify-stragglers', wait: 'look', fail: 'conclude' } as const;
      expect(next(look(3600, { wrong }), { policy }).next).toBe(atDeadline[stragglers]);
    },
  );
});

describe('taking back', () => {
  it('is due once Ready=False has stood for ten minutes', () => {
    expect(next(look(700, { phase: notReady(101) })).next).toBe('look');
    expect(next(look(700, { phase: notReady(100) }))).toMatchObject({
      next: 'take-back',
      lookAgainIn: 0,
      takingBack: 'not Ready, for 10 minutes',
    });
  });

  it('is not due for a class that is merely Unknown, or that Karpenter has not looked at', () => {
    expect(next(look(3000, { phase: notReady(0, false) })).next).toBe('look');
    expect(next(look(3000, { phase: BEHIND })).next).toBe('look');
  });

  it('is due at once where launches fail for what was changed', () => {
    expect(next(look(60, { launchFailure: 'NodeClaim c cannot be launched' }))).toMatchObject({
      next: 'take-back',
      takingBack: 'NodeClaim c cannot be launched',
    });
  });

  it('needs values to go back to, which are others', () => {
    const failing = look(700, { phase: notReady(0), launchFailure: 'x' });
    expect(next(failing, { record: { prior: rolling().target } }).next).toBe('look');
    expect(nextOf(rolling({ wholeLookAt: instant(700) }), failing, record()).next).toBe('look');
  });

  it('ends rolled back once drift is gone and the table is kept', () => {
    const state = { takingBack: 'launches failed' };
    expect(next(look(700, { phase: { kind: 'settling', why: 'drift' } }), { state }).next).toBe('look');
    expect(next(look(700, { left: 2 }), { state }).next).toBe('look');
    expect(next(look(700, { wrong: ['a'] }), { state })).toMatchObject({
      outcome: 'RolledBack',
      reason: 'launches failed',
    });
  });

  it('fails where even the values of before are refused for ten minutes', () => {
    const state = { takingBack: 'launches failed' };
    expect(next(look(700, { phase: notReady(101) }), { state }).next).toBe('look');
    expect(next(look(700, { phase: notReady(100) }), { state })).toMatchObject({
      outcome: 'Failed',
      reason: 'not Ready, with the values of before too; taken back because launches failed',
    });
  });

  it('does not begin twice', () => {
    const failing = look(60, { launchFailure: 'x', phase: { kind: 'settling', why: '' } });
    expect(next(failing, { state: { takingBack: 'x' } }).next).toBe('look');
  });
});

describe('what never settles', () => {
  it('is waited for until deadline and drain time-out have passed', () => {
    const policy = { deadline: 3600, drainTimeout: 7200 };
    expect(next(look(10_799, { phase: BEHIND }), { policy }).next).toBe('look');
    expect(next(look(10_800, { phase: BEHIND }), { policy })).toMatchObject({
      outcome: 'Failed',
      reason: BEHIND.why,
    });
  });
});

describe('what somebody retries long after the drain time-out', () => {
  it('is given 10 minutes to settle, whatever the time-out', () => {
    const retried = {
      policy: { deadline: 3600, drainTimeout: 7200 },
      state: { startedAt: instant(20_000) },
    };
    expect(next(look(20_599, { phase: BEHIND }), retried).next).toBe('look');
    expect(next(look(20_600, { phase: BEHIND }), retried)).toMatchObject({ outcome: 'Failed' });
  });
});

describe('an instance that stays unknown', () => {
  const policy = { deadline: 3600, drainTimeout: 7200 };
  const seen = (seconds: number, unknownSince: number): Rolling | Concluding =>
    next(look(seconds, { unknown: ['a'] }), { policy, state: { unknownSince: instant(unknownSince) } });

  it('is waited for until the drain time-out, and 30 minutes at least', () => {
    expect(seen(10_799, 0).next).toBe('look');
    expect(seen(10_800, 9_001).next).toBe('look');
    expect(seen(10_800, 9_000)).toMatchObject({
      outcome: 'Failed',
      reason: 'still unknown at the drain time-out: a',
    });
  });

  it('is counted from the first look without it', () => {
    expect(next(look(700, { unknown: ['a'] }))).toMatchObject({ unknownSince: instant(700) });
    expect(next(look(700, { wrong: ['b'] }), { state: { unknownSince: instant(60) } })).not.toHaveProperty(
      'unknownSince',
    );
  });
});

describe('without a whole look', () => {
  const blind = { instancesKnown: false, unknown: ['a'] };

  it('is counted from the patch, before which strategy immediate may take long', () => {
    const state = { patchedAt: instant(1800), wholeLookAt: instant(0) };
    expect(next(look(3599, blind), { state }).next).toBe('look');
    expect(next(look(3600, blind), { state })).toMatchObject({ outcome: 'Failed' });
  });

  it('looks again in 20 seconds, and fails after 30 minutes', () => {
    expect(next(look(2799, blind), { state: { wholeLookAt: instant(1000) } })).toMatchObject({
      next: 'look',
      lookAgainIn: 20,
    });
    expect(next(look(2800, blind), { state: { wholeLookAt: instant(1000) } })).toMatchObject({
      outcome: 'Failed',
      reason: 'no look could read everything for 30 minutes; unknown: a',
    });
  });

  it('modifies nothing at the deadline', () => {
    expect(next(look(3600, blind)).next).toBe('look');
  });
});

describe('what it says', () => {
  it('does not grow with the fleet', () => {
    const names = Array.from({ length: 2000 }, (_, index) => `node-${index}`);
    const many = { wrong: names, unknown: names, busy: names };
    for (const seconds of [60, 3600])
      expect(JSON.stringify(next(look(seconds, many))).length).toBeLessThan(2000);
    expect(next(look(60, many))).toMatchObject({
      waitsFor: expect.stringContaining('and 1995 more') as string,
    });
  });
});
