/** Task tokens: each wait of a Task has one, which ends it once and is worth nothing afterwards. */
import { apiError } from './api-errors.ts';

export interface TaskTokens {
  /** A new one, for the Task that is being entered. */
  issue(): string;
  /** The result that SendTaskSuccess brings for a token. Waits for ever where the Task has ended before. */
  resultOf(token: string): Promise<unknown>;
  /** The Task timed out, failed or was left: its token is worth nothing from now on. */
  close(token: string): void;
  /** SendTaskSuccess. Throws as Step Functions does. */
  succeed(token: string, result: unknown): void;
}

interface Wait {
  result: Promise<unknown>;
  resolve: (result: unknown) => void;
  isOpen: boolean;
}

/** `prefix` sets the tokens of one state machine apart from other text, for whoever looks for one where none may be. */
export function createTaskTokens(prefix = 'task-token'): TaskTokens {
  const waits = new Map<string, Wait>();
  return {
    issue() {
      const token = `${prefix}-${String(waits.size + 1).padStart(6, '0')}`;
      const { promise, resolve } = Promise.withResolvers<unknown>();
      waits.set(token, { result: promise, resolve, isOpen: true });
      return token;
    },
    resultOf(token) {
      const wait = waits.get(token);
      if (wait === undefined) throw new Error('the Task does not hand its own token on');
      return wait.result;
    },
    close(token) {
      const wait = waits.get(token);
      if (wait !== undefined) wait.isOpen = false;
    },
    succeed(token, result) {
      const wait = waits.get(token);
      if (wait === undefined) throw apiError('InvalidToken', "Invalid Token: 'Invalid token'");
      if (!wait.isOpen) throw apiError('TaskTimedOut', 'The task token has expired or its task was closed');
      wait.isOpen = false;
      // As JSON, as everything that comes to a state.
      wait.resolve(JSON.parse(JSON.stringify(result)));
    },
  };
}
