/** Plans a rollout from reads alone. */
import type { z } from 'zod';
import { planStep, type PlanPorts } from '../../rollout/plan.ts';
import { executionInputSchema, taskEvent } from '../../rollout/state.ts';
import { instrument } from '../shared/instrument.ts';
import { record } from '../shared/task.ts';

const events = taskEvent(executionInputSchema);

export const createHandler = (ports: PlanPorts) =>
  instrument('plan', async (event, instruments) => {
    const { execution, startedAt, state }: z.infer<typeof events> = events.parse(event);
    instruments.logger.appendKeys({ rack: state.rack, execution });
    const next = await planStep(ports, { rack: state.rack, execution, startedAt });
    record(instruments, next);
    return next;
  });
