/** Plans a rollout from reads alone; again after a person's answer. */
import { z } from 'zod';
import { planStep } from '../../rollout/plan-step.ts';
import type { PlanPorts } from '../../rollout/plan.ts';
import { awaitingSchema, executionInputSchema, taskEvent } from '../../rollout/state.ts';
import { instrument } from '../shared/instrument.ts';
import { record } from '../shared/task.ts';

const events = taskEvent(z.union([executionInputSchema, awaitingSchema]));

export const createHandler = (ports: PlanPorts) =>
  instrument('plan', async (event, instruments) => {
    const { execution, startedAt, state }: z.infer<typeof events> = events.parse(event);
    instruments.logger.appendKeys({ rack: state.rack, execution });
    const { question, decided } = 'question' in state ? state : {};
    const asked = question && decided && { question, decided };
    const next = await planStep(ports, { rack: state.rack, execution, startedAt, ...(asked && { asked }) });
    record(instruments, next);
    return next;
  });
