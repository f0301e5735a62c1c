/** What the service stored as JSON under its own prefix, read back. */
import { z } from 'zod';
import { approvalSchema, type Approval } from './approval.ts';
import { RolloutError } from './errors.ts';
import { recordSchema, type RolloutRecord } from './record.ts';
import type { Registration, WaitToken } from './ports.ts';

/** What is stored is not what this version wrote: to go on as if it were empty could lose a baseline. */
class UnreadableRecord extends RolloutError {
  override name = 'UnreadableRecord';
}

const registrationSchema = z.strictObject({ rack: z.string(), cluster: z.string(), nodePool: z.string() });

/** `name` is the parameter's, for the one who has to mend it. */
export const readRecord = (name: string, text: string | undefined): RolloutRecord =>
  parsed(recordSchema, name, text);

export const readApproval = (name: string, text: string | undefined): Approval =>
  parsed(approvalSchema, name, text);

export const readRegistration = (name: string, text: string | undefined): Registration =>
  parsed(registrationSchema, name, text);

const tokenSchema = z.strictObject({ execution: z.string(), token: z.string() });

/** Its trouble names the parameter, and nothing of what it says. */
export const readToken = (name: string, text: string | undefined): WaitToken =>
  parsed(tokenSchema, name, text);

const REMEDY = 'put an earlier version of it back (Parameter Store keeps 100 in its history)';

function parsed<S extends z.ZodType>(schema: S, name: string, text: string | undefined): z.infer<S> {
  let json: unknown;
  try {
    json = JSON.parse(text ?? '');
  } catch {
    // Without its cause: the error of JSON.parse quotes the text, which may be a token, and causes are logged.
    throw new UnreadableRecord(`parameter ${name} is not JSON: ${REMEDY}`);
  }
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) =>
    [path.join('.'), message].filter((part) => part !== '').join(': '),
  );
  throw new UnreadableRecord(`parameter ${name} cannot be read (${problems.join('; ')}): ${REMEDY}`, {
    cause: error,
  });
}
