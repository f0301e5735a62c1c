/** A task of the workflow: the state in, one step of the rollout, the state out. */
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { rollingSchema, taskEvent, type Concluding, type Rolling, type State } from '../../rollout/state.ts';
import { instrument, type Instruments } from './instrument.ts';

const events = taskEvent(rollingSchema);

/**
 * Wraps a step. The event is what the workflow's Parameters make of its state; a state of another shape is refused
 * by name before anything is read or written.
 */
export function createTask(
  step: string,
  run: (state: Rolling) => Promise<State>,
): ReturnType<typeof instrument> {
  return instrument(step, async (event, instruments) => {
    const { execution, startedAt, state } = events.parse(event);
    instruments.logger.appendKeys({ rack: state.rack, generation: state.generation, execution });
    const next = await run({ ...state, execution, startedAt });
    record(instruments, next);
    return next;
  });
}

/** What the step came to, for people: one line, and the counts of those that were counted. */
export function record({ logger, metrics }: Instruments, state: Rolling | Concluding): void {
  const { next, rack, counts } = state;
  logger.info(
    'stepped',
    next === 'conclude'
      ? { next, outcome: state.outcome, reason: state.reason }
      : { next, waitsFor: state.waitsFor, counts },
  );
  if (counts === undefined) return;
  metrics.addDimension('rack', rack);
  metrics.addMetric('NonCompliantInstances', MetricUnit.Count, counts.wrong);
  metrics.addMetric('UnknownInstances', MetricUnit.Count, counts.unknown);
  metrics.addMetric('HeldNodes', MetricUnit.Count, counts.held);
}
