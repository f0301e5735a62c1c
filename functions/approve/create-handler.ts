/**
 * Asks a person to approve, ends the wait of an earlier rollout, and takes a person's answer. The token of the wait is in
 * its event, which therefore is never logged, whatever the environment says.
 */
import { z } from 'zod';
import {
  askStep,
  decideStep,
  decisionRequestSchema,
  DecisionRefused,
  endWaitStep,
  type ApprovePorts,
  type DecisionAnswer,
  type DecisionRequest,
} from '../../rollout/approve.ts';
import { awaitingSchema, endWaitSchema, taskEvent } from '../../rollout/state.ts';
import { instrument, type Instruments } from '../shared/instrument.ts';

const askSchema = taskEvent(awaitingSchema).extend({ token: z.string().min(1) });
const events = z.union([askSchema, taskEvent(endWaitSchema), decisionRequestSchema]);

export const createHandler = (ports: ApprovePorts) =>
  instrument(
    'approve',
    async (event, instruments) => {
      const parsed: z.infer<typeof events> = events.parse(event);
      if ('decision' in parsed) return decide(ports, parsed, instruments);
      const { execution, startedAt, state } = parsed;
      instruments.logger.appendKeys({ rack: state.rack, execution });
      if ('token' in parsed) {
        await askStep(ports, { ...parsed.state, execution, startedAt }, parsed.token);
        instruments.logger.info('asked', { hash: parsed.state.question.hash });
      } else {
        await endWaitStep(ports, { ...parsed.state, execution, startedAt });
        instruments.logger.info('ended the wait', { of: parsed.state.earlier });
      }
      // What Plan begins with again.
      return { rack: state.rack };
    },
    { logEvent: false },
  );

/** A mistake of a person is an answer to them and no fault of the function. */
async function decide(
  ports: ApprovePorts,
  request: DecisionRequest,
  { logger }: Instruments,
): Promise<DecisionAnswer> {
  logger.appendKeys({ rack: request.rack });
  try {
    const decision = await decideStep(ports, request);
    logger.info('decided', { ...decision });
    return decision;
  } catch (error) {
    if (!(error instanceof DecisionRefused)) throw error;
    logger.info('refused', { hash: request.hash, why: error.message });
    return { refused: error.message };
  }
}
