/** Ends a rollout: table, record, Event, notice, report; also what a Catch hands over. */
import { z } from 'zod';
import type { ClosePorts } from '../../rollout/close.ts';
import { concludeStep, type ConcludeInput } from '../../rollout/conclude.ts';
import { executionInputSchema, stateSchema, taskEvent } from '../../rollout/state.ts';
import { instrument } from '../shared/instrument.ts';
import { record } from '../shared/task.ts';

/** The States Language promises an Error and only recommends a Cause. */
const caught = z.looseObject({ Error: z.string(), Cause: z.string().exactOptional() });

/** A Catch adds `error` beside the state; before the first state that is the execution's input. */
const events = taskEvent(z.looseObject({ rack: z.string(), error: caught.optional() }));

export const createHandler = (ports: ClosePorts) =>
  instrument('conclude', async (event, instruments) => {
    const { execution, startedAt, state } = events.parse(event);
    const { error, ...rest } = state;
    const early = executionInputSchema.safeParse(rest).success;
    const input: ConcludeInput = {
      execution,
      startedAt,
      rack: state.rack,
      ...(!early && { state: stateSchema.parse(rest) }),
      ...(error !== undefined && { error }),
    };
    instruments.logger.appendKeys({ rack: state.rack, execution });
    const end = await concludeStep(ports, input);
    record(instruments, end);
    return end;
  });
