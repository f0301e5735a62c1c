/** The three forms of the function's events, told apart by what they say of themselves before they are parsed. */
import { z } from 'zod';
import { InvalidError } from '../../rollout/errors.ts';

const said = z.object({
  decision: z.unknown().optional(),
  state: z.object({ next: z.unknown().optional() }).optional(),
});

/**
 * Which form an event has. Throws InvalidError, which names the forms there are, for an event of none.
 */
export function formOf(event: unknown): 'await-approval' | 'end-wait' | 'decision' {
  const { data } = said.safeParse(event);
  if (data?.decision !== undefined) return 'decision';
  const next = data?.state?.next;
  if (next === 'await-approval' || next === 'end-wait') return next;
  throw new InvalidError(
    'the event is none of approve: accepted is a task of the workflow, {execution, startedAt, state, token} whose state.next is "await-approval" or {execution, startedAt, state} whose state.next is "end-wait"; or a decision, {rack, hash, decision, reason, identity}',
  );
}

/** Parses an event of a form. Throws InvalidError, in which no value of the event is: one may be a token or a proof. */
export function parseForm<S extends z.ZodType>(form: string, schema: S, event: unknown): z.infer<S> {
  const { success, data, error } = schema.safeParse(event);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new InvalidError(`the event of the form ${form} is wrong: ${problems.join('; ')}`);
}
