/** A task of the workflow: the state in, one step of the rollout, the state out. */
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Clock } from '../../rollout/ports.ts';
import { rollingSchema, taskEvent, type Concluding, type Rolling, type State } from '../../rollout/state.ts';
import { instrument, type Instruments } from './instrument.ts';

const events = taskEvent(rollingSchema);

/**
 * Wraps a step. The event is what the workflow's Parameters make of its state; a state of another shape is refused
 * by name before anything is read or written.
 */
export function createTask(
  step: string,
  { clock }: { clock: Clock },
  run: (state: Rolling) => Promise<State>,
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
export function record({ logger }: Instruments, state: Rolling | Concluding): void {
  const { next, counts } = state;
  logger.info(
    'stepped',
    next === 'conclude'
      ? { next, outcome: state.outcome, reason: state.reason }
      : { next, waitsFor: state.waitsFor, counts },
  );
}

/** What a look found, by rack. What it did not find out is not there: never a zero that nobody counted. */
function measure({ metrics }: Instruments, state: Rolling | Concluding, now: Date): void {
  const { rack, counts, startedAt } = state;
  const secondsSince = (then: string): number => (now.getTime() - new Date(then).getTime()) / 1000;
  metrics.addDimension('rack', rack);
  metrics.addMetric('RolloutAgeSeconds', MetricUnit.Seconds, secondsSince(startedAt));
  if (counts === undefined) return;
  // That none is wrong is known only where none is unknown.
  if (counts.wrong > 0 || counts.unknown === 0) {
    metrics.addMetric('NonCompliantInstances', MetricUnit.Count, counts.wrong);
  }
  metrics.addMetric('UnknownInstances', MetricUnit.Count, counts.unknown);
  metrics.addMetric('HeldNodes', MetricUnit.Count, counts.held);
  if (state.next === 'conclude') return;
  if (state.oldestHoldSince !== undefined) {
    metrics.addMetric('OldestHoldSeconds', MetricUnit.Seconds, secondsSince(state.oldestHoldSince));
  }
  if (state.patchedAt === undefined) return;
  const past = secondsSince(state.patchedAt) - state.policy.deadline;
  if (past > 0 && counts.wrong + counts.unknown > 0) {
    metrics.addMetric('SecondsPastDeadline', MetricUnit.Seconds, past);
  }
}
