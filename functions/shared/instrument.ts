/** Every function's handler is wrapped in the same way: logs with who and what, metrics, traces. */
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { captureLambdaHandler } from '@aws-lambda-powertools/tracer/middleware';
import middy from '@middy/core';
import type { Context } from 'aws-lambda';

const SERVICE = 'imds-rollout';

export interface Instruments {
  logger: Logger;
  metrics: Metrics;
}

type Invoked = (event: unknown, context: Context) => Promise<unknown>;

/**
 * The handler as Lambda calls it. `step` is on every log line; what fails is logged once, with its cause, and thrown
 * on, so that whoever invoked the function sees it.
 */
export function instrument(
  step: string,
  run: (event: unknown, instruments: Instruments) => Promise<unknown>,
  /** `logEvent: false`: also where POWERTOOLS_LOGGER_LOG_EVENT is set. */
  options: { logEvent?: false } = {},
): Invoked {
  const logger = new Logger({ serviceName: SERVICE, persistentKeys: { step } });
  const metrics = new Metrics({ serviceName: SERVICE, namespace: SERVICE });
  const tracer = new Tracer({ serviceName: SERVICE });
  const publish = (): void => {
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  };
  // Its deadline is the function's own; the steps bound what they do by counts.
  return middy({ timeoutEarlyInMillis: 0 })
    .use(injectLambdaContext(logger, { resetKeys: true, ...options }))
    .use(captureLambdaHandler(tracer, { captureResponse: false }))
    .after(publish)
    .onError(({ error }) => {
      publish();
      logger.error('failed', error ?? new Error('unknown error'));
    })
    .handler((event: unknown) => run(event, { logger, metrics }));
}
