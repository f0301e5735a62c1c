/**
 * EventBridge: delivers Parameter Store's and Step Functions' events and the schedule to the functions that the
 * service's rules name. Delivery of these events is best effort, so a scenario may lose, double or delay them.
 */
import type { Chance } from '../parts.ts';
import type { RunningClock } from './clock.ts';
import { executionStatusChange, parameterStoreChange, scheduledEvent } from './events.ts';
import type { ExecutionRecord } from './execution.ts';
import type { Lambda } from './lambda.ts';
import { uuid } from './names.ts';
import type { ParameterChange } from './parameter-store.ts';

export type EventFate = { fate: 'lost' | 'doubled' } | { fate: 'late'; by: number };

export interface EventBus {
  parameterChanged(change: ParameterChange): void;
  executionChanged(execution: ExecutionRecord): void;
  /** What happens to the events of the parameters that `write` writes. */
  withFate(fate: EventFate | undefined, write: () => void): void;
  /** Starts the schedule; the function it returns ends it. */
  startSchedule(): () => void;
}

/** Events reach their function so long after the write. */
const delivery = { low: 500, high: 3_000 };
const schedulePeriod = 120_000;
/** The rule of rollout-ended (serverless.yml): executions that ended without their own last step. */
const endedBadly: ReadonlySet<string> = new Set(['FAILED', 'TIMED_OUT', 'ABORTED']);

export function createEventBus(options: { clock: RunningClock; chance: Chance; lambda: Lambda }): EventBus {
  const { clock, chance, lambda } = options;
  let current: EventFate | undefined;
  const happening = (): { id: string; at: Date } => ({ id: uuid(chance), at: clock.now() });
  const deliver = (functionName: string, event: unknown, delay = 0): void => {
    clock.after(chance.between(delivery.low, delivery.high) + delay, () => {
      lambda.invokeLater(functionName, event);
    });
  };
  return {
    parameterChanged(change) {
      if (current?.fate === 'lost') return;
      const event = parameterStoreChange(happening(), change);
      deliver('parameter-changed', event, current?.fate === 'late' ? current.by : 0);
      if (current?.fate === 'doubled') deliver('parameter-changed', event);
    },
    executionChanged(execution) {
      if (!endedBadly.has(execution.status)) return;
      deliver('rollout-ended', executionStatusChange(happening(), execution));
    },
    withFate(fate, write) {
      current = fate;
      try {
        write();
      } finally {
        current = undefined;
      }
    },
    startSchedule: () =>
      clock.every(schedulePeriod, () => {
        lambda.invokeLater('reconcile', scheduledEvent(happening(), 'imds-rollout-reconcile'));
      }),
  };
}
