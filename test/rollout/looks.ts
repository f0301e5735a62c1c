/** Looks of a fleet, and what comes after them. */
import type { Phase } from '../../rollout/phase.ts';
import { nextOf, type Look } from '../../rollout/progress.ts';
import type { RolloutRecord } from '../../rollout/record.ts';
import { concludingSchema, rollingSchema, type Concluding, type Rolling } from '../../rollout/state.ts';
import { at, record, rolling } from './given.ts';

export const PRIOR = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;
export const counts = {
  right: 3,
  wrong: 0,
  unknown: 0,
  off: 0,
  held: 0,
  buildsOnHeldNodes: 0,
  waitingBuilds: 0,
};

/** A look at a fleet where all is well, so many seconds after the patch, and what a test says otherwise. */
export function look(seconds: number, more: Partial<Look> = {}): Look {
  const { wrong = [], unknown = [] } = more;
  return {
    now: at(seconds),
    phase: { kind: 'settled' },
    instancesKnown: true,
    left: 0,
    written: 0,
    cordoned: 0,
    unsettledCordons: false,
    wrong,
    unknown,
    busy: [],
    launchFailure: undefined,
    counts: { ...counts, wrong: wrong.length, unknown: unknown.length },
    ...more,
  };
}

export type Policy = Partial<Rolling['policy']>;

export function next(
  seen: Look,
  given: { policy?: Policy; state?: Partial<Rolling>; record?: Partial<RolloutRecord> } = {},
): Rolling | Concluding {
  const before = rolling({ wholeLookAt: seen.now.toISOString(), ...given.state });
  const state = { ...before, policy: { ...before.policy, ...given.policy } };
  const after = nextOf(state, seen, record({ prior: PRIOR, ...given.record }));
  // A step's input is the previous step's output: what does not fit the schema would end the execution.
  return after.next === 'conclude' ? concludingSchema.parse(after) : rollingSchema.parse(after);
}

export const notReady = (since: number, refused = true): Phase => ({
  kind: 'notReady',
  why: 'not Ready',
  since: at(since),
  refused,
});
export const BEHIND = { kind: 'behind', why: 'Karpenter may not be running' } satisfies Phase;
