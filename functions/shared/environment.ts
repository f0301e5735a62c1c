/** The environment of a function, parsed when its handler is built: a bad one fails the first invocation by name. */
import { z } from 'zod';
import { RolloutError } from '../../rollout/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown when a handler is built in an environment that its function cannot run in. */
export class EnvironmentError extends RolloutError {
  override name = 'EnvironmentError';
}

/** A text, for which what is accepted is said whether it is wrong or missing. */
const text = (pattern: RegExp, accepted: string) => z.string({ error: accepted }).regex(pattern, accepted);

/** Under which everything of a rack is kept: `/racks/` by default of the deployment. */
export const parameterPrefix = text(
  /^\/(?:[\w.-]+\/)+$/,
  'accepted is a path that begins and ends with /, e.g. /racks/',
);

/** Of parameter-changed, which only starts executions. */
export const starterEnvironment = z.object({
  PARAMETER_PREFIX: parameterPrefix,
  STATE_MACHINE_ARN: text(
    /^arn:[\w-]+:states:[\w-]+:\d{12}:stateMachine:[\w-]+$/,
    "accepted is a state machine's ARN",
  ),
});

/** Of every other function. */
export const rolloutEnvironment = starterEnvironment.extend({
  /** Where registrations and records are kept: `/imds-rollout/racks/` by default of the deployment. */
  RECORD_PREFIX: parameterPrefix,
  REPORT_BUCKET: text(/^[\w.-]{3,63}$/, "accepted is a bucket's name"),
});

/** Of approve, which keeps the tokens of waits where nobody reads who may read records. */
export const approveEnvironment = rolloutEnvironment
  .pick({ RECORD_PREFIX: true, STATE_MACHINE_ARN: true })
  .extend({ TOKEN_PREFIX: parameterPrefix })
  .refine(({ RECORD_PREFIX, TOKEN_PREFIX }) => !TOKEN_PREFIX.startsWith(RECORD_PREFIX), {
    path: ['TOKEN_PREFIX'],
    error:
      'accepted is a path outside of RECORD_PREFIX, since whoever may read that may read what is below it; deploy with another tokenPrefix',
  });

export function parseEnvironment<S extends z.ZodType>(schema: S, environment: Environment): z.infer<S> {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = path.join('.');
    const value = environment[name];
    return `${name} is ${value === undefined ? 'not set' : JSON.stringify(value)}: ${message}`;
  });
  throw new EnvironmentError(`the function's environment is wrong: ${problems.join('; ')}`);
}
