import { setTimeout as importedSetTimeout } from 'node:timers';
import { expect, test } from 'vitest';
import { createChance, withSeededRandom } from '../../../simulator/account/chance.ts';
import { installClock, settle, type RunningClock } from '../../../simulator/account/clock.ts';

const startsAt = new Date('2026-03-02T09:00:00Z');

async function withClock(body: (clock: RunningClock) => Promise<void>): Promise<void> {
  const clock = installClock(startsAt);
  try {
    await body(clock);
  } finally {
    clock.uninstall();
  }
}

test('Date and timers are virtual, those imported from node:timers too', async () => {
  const fired: string[] = [];
  await withClock(async (clock) => {
    expect(new Date()).toEqual(startsAt);
    expect(clock.now()).toBeInstanceOf(Date);
    setTimeout(() => fired.push(`global ${new Date().toISOString()}`), 3_600_000);
    // middy takes its timers from there.
    importedSetTimeout(() => fired.push(`imported ${clock.now().toISOString()}`), 7_200_000);
    while (await clock.step());
  });
  expect(fired).toEqual(['global 2026-03-02T10:00:00.000Z', 'imported 2026-03-02T11:00:00.000Z']);
  expect(Math.abs(Date.now() - startsAt.getTime())).toBeGreaterThan(86_400_000);
});

test('a step runs one timer and all that it set off; an instant ends after all that was due', async () => {
  const log: string[] = [];
  await withClock(async (clock) => {
    clock.onInstant(() => log.push(`end of ${clock.now().getTime() - startsAt.getTime()}`));
    clock.after(10, () => {
      log.push('first');
      void settleChain(50).then(() => log.push('its chain'));
    });
    clock.after(10, () => log.push('second'));
    const cancel = clock.after(15, () => log.push('cancelled'));
    const stop = clock.every(20, () => {
      log.push('tick');
      if (clock.now().getTime() - startsAt.getTime() === 40) stop();
    });
    cancel();
    while (await clock.step());
  });
  expect(log).toEqual([
    'first',
    'its chain',
    'second',
    'end of 10',
    'tick',
    'end of 20',
    'tick',
    'end of 40',
  ]);
});

async function settleChain(depth: number): Promise<void> {
  for (let turn = 0; turn < depth; turn += 1) await Promise.resolve();
}

test('a sleep ends when its time has come and not before', async () => {
  await withClock(async (clock) => {
    const woke: number[] = [];
    void clock.sleep(5_000).then(() => woke.push(clock.now().getTime() - startsAt.getTime()));
    await settle();
    expect(woke).toEqual([]);
    while (await clock.step());
    expect(woke).toEqual([5_000]);
  });
});

test('the same seed gives the same numbers, for Math.random too, and then Math.random is as before', async () => {
  const draw = (seed: number): Promise<number[]> =>
    withSeededRandom(seed, () => Promise.resolve([Math.random(), Math.random()]));
  const { random } = Math;
  expect(await draw(1)).toEqual(await draw(1));
  expect(await draw(1)).not.toEqual(await draw(2));
  await expect(withSeededRandom(1, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke');
  expect(Math.random).toBe(random);
  const chance = createChance(5);
  for (let draws = 0; draws < 100; draws += 1) {
    const number = chance.between(500, 3_000);
    expect(number).toBeGreaterThanOrEqual(500);
    expect(number).toBeLessThan(3_000);
  }
});

test('neighbouring seeds differ from their first number on', () => {
  const firsts = Array.from({ length: 200 }, (_, seed) => createChance(seed).next());
  const steps = firsts.slice(1).map((first, index) => Math.abs(first - (firsts[index] ?? 0)));
  // Of numbers that have nothing to do with each other it is a third.
  expect(steps.reduce((sum, step) => sum + step, 0) / steps.length).toBeGreaterThan(0.25);
});
