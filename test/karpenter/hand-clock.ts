/** A clock of a test's own, which goes on when the test says so: what waits for it waits, everything else is real. */
import type { RunningClock } from '../../simulator/account/clock.ts';

export interface HandClock extends RunningClock {
  /** Goes on by so many milliseconds, and runs what is due on the way, in its order. */
  advance(milliseconds: number): Promise<void>;
}

export function handClock(startsAt: Date): HandClock {
  let now = startsAt.getTime();
  const timers = new Set<{ at: number; action: () => void }>();
  const after = (milliseconds: number, action: () => void): (() => void) => {
    const timer = { at: now + milliseconds, action };
    timers.add(timer);
    return () => {
      timers.delete(timer);
    };
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    now: () => new Date(now),
    after,
    every: () => () => undefined,
    sleep: (milliseconds) =>
      new Promise((resolve) => {
        after(milliseconds, resolve);
      }),
    step: () => Promise.resolve(false),
    onInstant: () => undefined,
    uninstall: () => undefined,
    async advance(milliseconds) {
      const until = now + milliseconds;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.action();
        await turn();
      }
      now = until;
    },
  };
}
