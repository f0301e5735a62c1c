/**
 * Karpenter as a process. While it is stopped nothing of it happens: what it had planned is forgotten with its
 * memory, and after the start it looks at everything again, as a controller does when its caches are filled.
 */
import type { VirtualClock } from '../parts.ts';

export class KarpenterProcess {
  readonly #clock: VirtualClock;
  readonly #startListeners: (() => void)[] = [];
  readonly #stopListeners: (() => void)[] = [];
  #running = true;
  /** Changes with every stop, so that actions of the process that died do not run in its successor. */
  #incarnation = 0;
  #cancelStart: (() => void) | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Like the clock's, but forgotten when the process stops. */
  after(milliseconds: number, action: () => void): void {
    if (!this.#running) return;
    const incarnation = this.#incarnation;
    this.#clock.after(milliseconds, () => {
      if (this.#running && incarnation === this.#incarnation) action();
    });
  }

  /** A later stop replaces an earlier one's start. */
  stop(milliseconds: number): void {
    this.#running = false;
    this.#incarnation += 1;
    for (const listener of this.#stopListeners) listener();
    this.#cancelStart?.();
    this.#cancelStart = this.#clock.after(milliseconds, () => {
      this.#cancelStart = undefined;
      this.#running = true;
      for (const listener of this.#startListeners) listener();
    });
  }

  /** Called at each start but the first. */
  onStart(listener: () => void): void {
    this.#startListeners.push(listener);
  }

  onStop(listener: () => void): void {
    this.#stopListeners.push(listener);
  }
}

/** A loop that runs every so often while it has work, and is asleep otherwise. */
export class Ticker {
  readonly #after: (milliseconds: number, action: () => void) => void;
  readonly #milliseconds: number;
  readonly #tick: () => boolean;
  #awake = false;

  /** `tick` returns whether there is more to do. */
  constructor(
    after: (milliseconds: number, action: () => void) => void,
    milliseconds: number,
    tick: () => boolean,
  ) {
    this.#after = after;
    this.#milliseconds = milliseconds;
    this.#tick = tick;
  }

  wake(delay = this.#milliseconds): void {
    if (this.#awake) return;
    this.#awake = true;
    this.#after(delay, () => {
      this.#awake = false;
      if (this.#tick()) this.wake();
    });
  }

  /** Forgets that it was awake: its planned tick died with the process. */
  reset(): void {
    this.#awake = false;
  }
}
