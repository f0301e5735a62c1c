/** A task of the workflow: the state in, one step of the rollout, the state out. */
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Clock } from '../../rollout/ports.ts';
import { rollingSchema, taskEvent, type Concluding, type Rolling, type State } from '../../rollout/state.ts';
import { instrument, type Instruments } from './instrument.ts';
import { addMeasured, secondsBetween } from './measure.ts';

const events = taskEvent(rollingSchema);

/**
 * Wraps a step. The event is what the workflow's Parameters make of its state; a state of another shape is refused
 * by name before anything is read or written.
 */
export function createTask(
  step: string,
  { clock }: { clock: Clock },
  run: (state: Rolling) => Promise<Rolling | Concluding>,
): ReturnType<typeof instrument> {
  return instrument(step, async (event, instruments) => {
    const { execution, startedAt, state } = events.parse(event);
    instruments.logger.appendKeys({ rack: state.rack, generation: state.generation, execution });
    const next = await run({ ...state, execution, startedAt });
    record(instruments, next);
    // What a step passes on was counted earlier; only what it made anew is a measurement.
    if (next.counts !== state.counts) measure(instruments, next, clock.now());
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
function measure({ metrics }: Instruments, state: Rolling | Concluding, now: Date): void {
  const { rack, counts, startedAt } = state;
  const oldestHoldSince = state.next === 'conclude' ? undefined : state.oldestHoldSince;
  const held = { ...counts, ...(oldestHoldSince !== undefined && { oldestHoldSince }) };
  addMeasured(metrics, rack, { rolloutSince: startedAt, ...held }, now);
  if (counts === undefined || state.next === 'conclude') return;
  const countedFrom = state.patchedAt ?? state.awaitedSince;
  if (countedFrom === undefined) return;
  const past = secondsBetween(countedFrom, now) - state.policy.deadline;
  if (past > 0 && counts.wrong + counts.unknown > 0) {
    metrics.addMetric('SecondsPastDeadline', MetricUnit.Seconds, past);
  }
}
