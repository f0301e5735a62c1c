/** Step Functions' event of an execution that failed, timed out or was stopped: cleans up where Conclude did not. */
import { EventBridgeSchema } from '@aws-lambda-powertools/parser/schemas/eventbridge';
import { z } from 'zod';
import { endStopped, type ReconcilePorts } from '../../rollout/reconcile.ts';
import { executionInputSchema } from '../../rollout/state.ts';
import { instrument } from '../shared/instrument.ts';

const endedSchema = EventBridgeSchema.extend({
  source: z.literal('aws.states'),
  'detail-type': z.literal('Step Functions Execution Status Change'),
  detail: z.object({
    name: z.string(),
    status: z.enum(['FAILED', 'TIMED_OUT', 'ABORTED']),
    /** Milliseconds since 1970. */
    startDate: z.number(),
    stopDate: z.number().nullable(),
    input: z.string(),
  }),
});

export const createHandler = (ports: ReconcilePorts) =>
  instrument('rollout-ended', async (event, { logger }) => {
    const { name, status, startDate, stopDate, input } = endedSchema.parse(event).detail;
    const { rack } = executionInputSchema.parse(JSON.parse(input));
    logger.appendKeys({ rack, execution: name });
    const startedAt = new Date(startDate).toISOString();
    const endedAt = stopDate === null ? {} : { endedAt: new Date(stopDate).toISOString() };
    await endStopped(ports, { rack, execution: name, startedAt, ...endedAt, status });
    logger.info('cleaned up', { status });
    return { rack, execution: name, status };
  });
