/**
 * The virtual clock of a run. Date, setTimeout and setInterval are replaced for its length, so that the real handlers
 * and the real workflow live in it without knowing; @sinonjs/fake-timers does the replacing.
 */
import { syncBuiltinESMExports } from 'node:module';
import FakeTimers from '@sinonjs/fake-timers';
import type { VirtualClock } from '../parts.ts';

/** The process's own, held on to before anything is replaced: a turn of the real event loop, and a Date that is fast. */
const realSetImmediate = setImmediate;
const RealDate = Date;

export interface RunningClock extends VirtualClock {
  /** Resolves after so many virtual milliseconds. */
  sleep(milliseconds: number): Promise<void>;
  /** Goes to the next timer, runs it, and lets everything that it set off come to rest. False where none is left. */
  step(): Promise<boolean>;
  /** Called once for each instant at which anything happened, after everything that was due at it. */
  onInstant(listener: () => void): void;
  uninstall(): void;
}

/**
 * Replaces time in this process until `uninstall`. One clock at a time: a second one would count the first one's time.
 */
export function installClock(startsAt: Date): RunningClock {
  const timers = FakeTimers.withGlobal(globalThis).install({
    now: startsAt,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
  });
  // middy takes its setTimeout from node:timers; without this its imports would stay real.
  syncBuiltinESMExports();
  const listeners: (() => void)[] = [];
  let instant = Number.NaN;

  const after = (milliseconds: number, action: () => void): (() => void) => {
    const timer = timers.setTimeout(action, Math.max(0, milliseconds));
    return () => {
      timers.clearTimeout(timer);
    };
  };

  return {
    now: () => new RealDate(timers.now),
    after,
    every(milliseconds, action) {
      const timer = timers.setInterval(action, milliseconds);
      return () => {
        timers.clearInterval(timer);
      };
    },
    sleep: (milliseconds) =>
      new Promise((resolve) => {
        after(milliseconds, resolve);
      }),
    async step() {
      if (timers.countTimers() === 0) return false;
      timers.next();
      await settle();
      if (timers.now !== instant && listeners.length > 0) {
        instant = timers.now;
        // Timers of one moment run in the order in which they were set, so this one comes after all that are due now.
        timers.setTimeout(() => {
          for (const listener of listeners) listener();
        }, 0);
      }
      return true;
    },
    onInstant(listener) {
      listeners.push(listener);
    },
    uninstall() {
      timers.uninstall();
      syncBuiltinESMExports();
    },
  };
}

/**
 * One turn of the real event loop: by then every chain of promises has run as far as it gets without a timer. The
 * ports, the handlers and the workflow wait for nothing else, so one turn is enough (proved in the tests of run/).
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve));
}
