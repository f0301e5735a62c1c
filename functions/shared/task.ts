/** A task of the workflow: the state in, one step of the rollout, the state out. */
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Clock } from '../../rollout/ports.ts';
import type { z } from 'zod';
import {
  rollingSchema,
  taskEvent,
  type Next,
  type PuttingBack,
  type Rolling,
  type State,
} from '../../rollout/state.ts';
import { instrument, type Instruments } from './instrument.ts';
import { addMeasured, secondsBetween } from './measure.ts';

/**
 * Wraps a step. The event is what the workflow's Parameters make of its state; a state of another shape is refused
 * by name before anything is read or written.
 */
export function createTask<S extends Rolling | PuttingBack = Rolling>(
  step: string,
  { clock }: { clock: Clock },
  run: (state: S) => Promise<Next>,
  /** The states that it takes. */
  states: z.ZodType<S> = rollingSchema as unknown as z.ZodType<S>,
): ReturnType<typeof instrument> {
  const events = taskEvent(states);
  return instrument(step, async (event, instruments) => {
    const { execution, startedAt, state }: z.infer<typeof events> = events.parse(event);
    const { rack, generation, counts } = state;
    instruments.logger.appendKeys({ rack, execution, ...(generation !== undefined && { generation }) });
    const next = await run({ ...state, execution, startedAt });
    record(instruments, next);
    // What a step passes on was counted earlier; only what it made anew is a measurement.
    if (next.counts !== counts) measure(instruments, next, clock.now());
    return next;
  });
}

/** What the step came to, for people. */
export function record({ logger }: Instruments, state: State): void {
  logger.info(
    'stepped',
    state.next === 'conclude'
      ? { next: state.next, outcome: state.outcome, reason: state.reason }
      : { next: state.next, waitsFor: state.waitsFor, ...('counts' in state && { counts: state.counts }) },
  );
}

/** What a look found, by rack. */
function measure({ metrics }: Instruments, state: Next, now: Date): void {
  const { rack, counts, startedAt } = state;
  const oldestHoldSince = isEnding(state) ? undefined : state.oldestHoldSince;
  const held = { ...counts, ...(oldestHoldSince !== undefined && { oldestHoldSince }) };
  addMeasured(metrics, rack, { rolloutSince: startedAt, ...held }, now);
  if (counts === undefined || isEnding(state)) return;
  const countedFrom = state.patchedAt ?? state.awaitedSince;
  if (countedFrom === undefined) return;
  const past = secondsBetween(countedFrom, now) - state.policy.deadline;
  if (past > 0 && counts.wrong + counts.unknown > 0) {
    metrics.addMetric('SecondsPastDeadline', MetricUnit.Seconds, past);
  }
}

const isEnding = (state: Next): state is Exclude<Next, Rolling> =>
  state.next === 'conclude' || state.next === 'put-back-and-end';
