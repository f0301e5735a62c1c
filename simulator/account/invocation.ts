/** Who is calling, known wherever a call comes from: Lambda sets it, the gate reads it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from '../parts.ts';

/** One run of a function. `ended` is set when Lambda killed it: whatever it still tries must come to nothing. */
export interface Invocation {
  caller: Caller;
  ended?: Error;
}

const invocations = new AsyncLocalStorage<Invocation>();

/** undefined outside any function: a person at work, or AWS itself. */
export function currentInvocation(): Invocation | undefined {
  return invocations.getStore();
}

export function asInvocation<T>(invocation: Invocation, run: () => T): T {
  return invocations.run(invocation, run);
}

/** What AWS sets off by itself (executions, deliveries) must not count as the call that happened to set it off. */
export function outsideInvocations<T>(run: () => T): T {
  return invocations.exit(run);
}
