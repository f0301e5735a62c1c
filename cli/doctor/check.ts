/** A precondition by name, and how it stands. */
import { ForbiddenError, TransientError } from '../../rollout/errors.ts';
import { adviceOn } from '../account/explain.ts';

export interface Check {
  name: string;
  state: 'ok' | 'problem' | 'unknown';
  what: string;
  /** What to do; only where it is not ok. */
  todo?: string;
}

export type Finding = Omit<Check, 'name'>;

export const ok = (what: string): Finding => ({ state: 'ok', what });
export const problem = (what: string, todo: string): Finding => ({ state: 'problem', what, todo });
export const unknown = (what: string, todo: string): Finding => ({ state: 'unknown', what, todo });

/**
 * Runs one check. What this person may not see is unknown, since the functions' roles may; anything else that is
 * thrown is a problem.
 */
export async function check(name: string, run: () => Promise<Finding> | Finding): Promise<Check> {
  try {
    return { name, ...(await run()) };
  } catch (error) {
    const advice = adviceOn(error);
    if (advice === undefined) throw error;
    const isOurs = error instanceof ForbiddenError || error instanceof TransientError;
    return { name, state: isOurs ? 'unknown' : 'problem', what: advice.what, todo: advice.todo };
  }
}
