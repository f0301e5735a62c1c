/** What comes after a look while the class's own writer is waited for, and once it has come. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nextOf, type Look } from '../../rollout/progress.ts';
import { concludingSchema, rollingSchema, type Concluding, type Rolling } from '../../rollout/state.ts';
import { instant, record, rolling } from './given.ts';
import { look, notReady, PRIOR } from './looks.ts';

const WHY = 'EC2NodeClass build says httpTokens=optional, asked is httpTokens=required';
const policy = { classWriter: 'external', drainTimeout: 3600 } as const;
const { patchedAt: _, ...unpatched } = rolling();

/** What comes after a look of a rollout that began to wait a minute after its start. */
function after(
  seconds: number,
  more: Partial<Look> = {},
  given: { policy?: Partial<Rolling['policy']>; state?: Partial<Rolling> } = {},
): Rolling | Concluding {
  const state = {
    ...unpatched,
    awaitedSince: instant(60),
    wholeLookAt: instant(seconds),
    policy: { ...unpatched.policy, ...policy, ...given.policy },
    ...given.state,
  };
  const seen = look(seconds, { phase: { kind: 'awaited', why: WHY }, ...more });
  return z.union([rollingSchema, concludingSchema]).parse(nextOf(state, seen, record({ prior: PRIOR })));
}

describe('while the writer is waited for', () => {
  it('there is no success, however right the instances are', () => {
    expect(after(600)).toMatchObject({ next: 'look', waitsFor: WHY });
    expect(after(600)).not.toHaveProperty('compliantAt');
  });

  it.each([
    [100, 20],
    [299, 20],
    [300, 60],
    [3000, 60],
    [12 * 3600, 120],
  ])('looks at %i s come again after %i s', (seconds, lookAgainIn) => {
    expect(after(seconds, {}, { policy: { drainTimeout: 48 * 3600 } })).toMatchObject({
      next: 'look',
      lookAgainIn,
    });
  });

  it('instances are modified at the deadline, counted from when the wait began', () => {
    const wrong = ['a'];
    expect(after(3659, { wrong }).next).toBe('look');
    expect(after(3660, { wrong }).next).toBe('modify-stragglers');
    expect(after(3660, { wrong }, { policy: { stragglers: 'wait' } }).next).toBe('look');
  });

  it('strategy immediate modifies at once', () => {
    expect(after(120, { wrong: ['a'] }, { policy: { strategy: 'immediate' } }).next).toBe(
      'modify-stragglers',
    );
  });

  it('nothing that keeps Karpenter from launching is put down to it', () => {
    expect(after(600, { launchFailure: 'not authorized' })).toMatchObject({ next: 'look' });
  });

  it('a failure at the deadline says why new nodes are wrong', () => {
    expect(after(3660, { wrong: ['a'] }, { policy: { stragglers: 'fail' } })).toMatchObject({
      outcome: 'Failed',
      reason: `still wrong at the deadline: a; ${WHY}`,
    });
  });

  it('it ends when deadline and drain time-out have passed, and says what was waited for', () => {
    expect(after(7259)).toMatchObject({ next: 'look' });
    expect(after(7260)).toMatchObject({ outcome: 'Failed', reason: WHY });
  });

  it('an execution that begins later waits as long again, and modifies at once', () => {
    const state = { startedAt: instant(10_000) };
    expect(after(17_199, {}, { state })).toMatchObject({ next: 'look' });
    expect(after(17_200, {}, { state })).toMatchObject({ outcome: 'Failed' });
    expect(after(10_060, { wrong: ['a'] }, { state }).next).toBe('modify-stragglers');
  });
});

describe('once the class has come', () => {
  it('the deadline counts from then', () => {
    const state = { patchedAt: instant(3000) };
    const settled: Partial<Look> = { phase: { kind: 'settled' }, wrong: ['a'] };
    expect(after(6599, settled, { state }).next).toBe('look');
    expect(after(6600, settled, { state }).next).toBe('modify-stragglers');
  });

  it.each<[string, Partial<Look>, string]>([
    ['a class that stands refused', { phase: notReady(0) }, 'not Ready, for 10 minutes'],
    ['launches that fail', { phase: { kind: 'settled' }, launchFailure: 'not authorized' }, 'not authorized'],
  ])('%s is said, and nothing is taken back', (_, seen, why) => {
    expect(after(900, seen, { state: { patchedAt: instant(100) } })).toMatchObject({
      outcome: 'Failed',
      reason: `${why}; imds_rollout_class_writer is "external", so nothing is taken back: solve it, or render httpTokens=optional, httpPutResponseHopLimit=3 again`,
    });
  });
});
