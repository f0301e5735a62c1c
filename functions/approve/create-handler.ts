/**
 * Asks a person to approve, ends the wait of an earlier rollout, and takes a person's answer. The token of the wait is in
 * its event, which therefore is never logged, whatever the environment says.
 */
import { z } from 'zod';
import { askStep, endWaitStep, type ApprovePorts } from '../../rollout/approve.ts';
import {
  decideStep,
  decisionRequestSchema,
  DecisionRefused,
  type DecisionAnswer,
  type DecisionRequest,
} from '../../rollout/decide.ts';
import { awaitingSchema, endWaitSchema, taskEvent } from '../../rollout/state.ts';
import { instrument, type Instruments } from '../shared/instrument.ts';
import { formOf, parseForm } from './forms.ts';

const forms = {
  'await-approval': taskEvent(awaitingSchema).extend({ token: z.string().min(1) }),
  'end-wait': taskEvent(endWaitSchema),
  decision: decisionRequestSchema,
};

export const createHandler = (ports: ApprovePorts) =>
  instrument(
    'approve',
    async (event, instruments) => {
      const form = formOf(event);
      if (form === 'decision') return decide(ports, parseForm(form, forms[form], event), instruments);
      const { logger } = instruments;
      if (form === 'await-approval') {
        const { execution, startedAt, state, token } = parseForm(form, forms[form], event);
        logger.appendKeys({ rack: state.rack, execution, generation: state.question.generation });
        await askStep(ports, { ...state, execution, startedAt }, token);
        logger.info('asked', { hash: state.question.hash });
        return again(state);
      }
      const { execution, startedAt, state } = parseForm(form, forms[form], event);
      logger.appendKeys({ rack: state.rack, execution });
      await endWaitStep(ports, { ...state, execution, startedAt });
      logger.info('ended the wait', { of: state.earlier });
      return again(state);
    },
    { logEvent: false },
  );

/** What Plan begins with again. */
const again = ({ rack }: { rack: string }) => ({ rack });

/** A mistake of a person is an answer to them and no fault of the function. */
async function decide(
  ports: ApprovePorts,
  request: DecisionRequest,
  { logger }: Instruments,
): Promise<DecisionAnswer> {
  logger.appendKeys({ rack: request.rack });
  try {
    const decision = await decideStep(ports, request, ({ execution, generation }) => {
      logger.appendKeys({ execution, generation });
    });
    logger.info('decided', { ...decision });
    return decision;
  } catch (error) {
    if (!(error instanceof DecisionRefused)) throw error;
    logger.info('refused', { hash: request.hash, why: error.message });
    return { refused: error.message };
  }
}
