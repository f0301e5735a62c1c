/** When the next look is: dense at first, every two minutes at least, and few enough for one execution. */
import { describe, expect, it } from 'vitest';
import type { Phase } from '../../rollout/phase.ts';
import { nextOf, type Look } from '../../rollout/progress.ts';
import type { Concluding, Rolling } from '../../rollout/state.ts';
import { instant, record, rolling } from './given.ts';
import { BEHIND, look, next, notReady, PRIOR, type Policy } from './looks.ts';

describe('when it looks again', () => {
  const unready: Phase = { kind: 'settling', why: '' };

  it.each<[string, number, Partial<Look>, number]>([
    ['the class is not Ready yet', 5, { phase: unready }, 5],
    ['the class is not Ready for long', 599, { phase: BEHIND }, 5],
    ['the class is not Ready for very long', 600, { phase: BEHIND }, 60],
    ['nodes go', 60, { cordoned: 3 }, 20],
    ['nodes still go', 299, { cordoned: 3 }, 20],
    ['later', 300, { cordoned: 3 }, 60],
    ['a cordon is too young', 60, { unsettledCordons: true }, 11],
    ['a cordon is too young, much later', 3500, { unsettledCordons: true }, 11],
    ['more holds are due than a step writes', 60, { left: 400, written: 500 }, 1],
    ['none of the holds that are due could be written', 60, { left: 3, written: 0 }, 20],
  ])('%s', (_, seconds, more, expected) => {
    expect(next(look(seconds, { wrong: ['a'], ...more }))).toMatchObject({
      next: 'look',
      lookAgainIn: expected,
    });
  });

  it('is dense again once the class was patched again', () => {
    expect(next(look(7205, { phase: unready }), { state: { lastPatchAt: instant(7200) } })).toMatchObject({
      next: 'look',
      lookAgainIn: 5,
    });
  });

  it('is every two minutes at least, for as long as it takes', () => {
    const policy: Policy = { deadline: 86_400, drainTimeout: 172_800, stragglers: 'wait' };
    for (let hour = 0; hour < 72; hour += 0.1)
      for (const wrong of [['a'], []])
        expect(
          next(look(hour * 3600, { wrong, busy: ['a'] }), {
            policy,
            state: { compliantAt: instant(86_400) },
          }),
        ).toMatchObject({
          lookAgainIn: expect.toSatisfy((seconds: number) => seconds >= 1 && seconds <= 120) as number,
        });
  });

  /** Wait (2 events), Observe (5) and the Choice behind it (2), as Step Functions counts; the start and the end. */
  const EVENTS_A_LOOK = 9;
  const EVENTS_BESIDES = 100;

  it.each<[string, Partial<Look>, Policy]>([
    ['stragglers are waited for', { wrong: ['a'] }, { stragglers: 'wait' }],
    ['Karpenter is away', { phase: BEHIND }, {}],
    ['a class is Unknown', { phase: notReady(0, false) }, {}],
    ['Builds run on', { busy: ['a'] }, {}],
  ])('72 hours of looks fit the 25,000 events of an execution: %s', (_, more, policy) => {
    const longest: Policy = { deadline: 86_400, drainTimeout: 172_800, ...policy };
    let looks = 0;
    let state: Rolling | Concluding = rolling({ policy: { ...rolling().policy, ...longest } });
    for (let seconds = 5; state.next === 'look' && seconds < 72 * 3600;) {
      looks += 1;
      const seen = look(seconds, more);
      state = nextOf({ ...state, wholeLookAt: instant(seconds) }, seen, record({ prior: PRIOR }));
      seconds += state.next === 'conclude' ? 0 : state.lookAgainIn;
    }
    expect(looks).toBeGreaterThan(1000);
    expect(looks * EVENTS_A_LOOK + EVENTS_BESIDES).toBeLessThan(25_000);
  });
});
