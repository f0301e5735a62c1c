/** Parameter Store's event: a hint that something changed. It starts a rollout where the parameter matters to one. */
import { EventBridgeSchema } from '@aws-lambda-powertools/parser/schemas/eventbridge';
import { z } from 'zod';
import type { Ports } from '../../rollout/ports.ts';
import { matters, parameterOf, startRollout } from '../../rollout/start.ts';
import { parameterPrefix, parseEnvironment, type Environment } from '../shared/environment.ts';
import { instrument } from '../shared/instrument.ts';

const environmentSchema = z.object({ PARAMETER_PREFIX: parameterPrefix });

const changeSchema = EventBridgeSchema.extend({
  source: z.literal('aws.ssm'),
  'detail-type': z.literal('Parameter Store Change'),
  // The ARN hides the leading slash, so the name is what counts.
  detail: z.object({ name: z.string(), operation: z.string(), type: z.string().optional() }),
});

export function createHandler(ports: Pick<Ports, 'clock' | 'workflow'>, environment: Environment) {
  const { PARAMETER_PREFIX } = parseEnvironment(environmentSchema, environment);
  return instrument('parameter-changed', async (event, { logger }) => {
    const { name, operation } = changeSchema.parse(event).detail;
    const parameter = parameterOf(name, PARAMETER_PREFIX);
    if (parameter === undefined || !matters(parameter.key) || operation === 'LabelParameterVersion') {
      logger.info('ignored', { parameter: name, operation });
      return { kind: 'ignored', parameter: name };
    }
    logger.appendKeys({ rack: parameter.rack });
    const started = await startRollout(ports, parameter.rack);
    logger.info('heard', { parameter: name, operation, ...started });
    return started;
  });
}
