/** One execution as Step Functions would remember it, made from the events that aws-local-stepfunctions logs. */

type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

export interface ExecutionRecord {
  name: string;
  input: unknown;
  startedAt: Date;
  status: ExecutionStatus;
  endedAt?: Date;
  error?: string;
  cause?: string;
  output?: unknown;
  /** The last state entered. */
  state?: string;
  /** Billed transitions: every state entered and every retry. */
  transitions: number;
  /** As GetExecutionHistory would count them: see `count`. */
  historyEvents: number;
  /** The largest input or output of a state, as UTF-8 JSON. */
  maxPayloadBytes: number;
  /** The last value that each key of the top level had in a state's output. */
  payload: Record<string, unknown>;
  /** The results that SendTaskSuccess brought, oldest first. */
  answers: unknown[];
}

/** What the library logs, as far as it is used here. */
export interface WorkflowEvent {
  type: string;
  state?: { name: string; type: string; output?: unknown };
}

export function newExecution(name: string, input: unknown, startedAt: Date): ExecutionRecord {
  return {
    name,
    input,
    startedAt,
    status: 'RUNNING',
    transitions: 0,
    // ExecutionStarted
    historyEvents: 1,
    maxPayloadBytes: jsonBytes(input),
    payload: {},
    answers: [],
  };
}

/**
 * Counts history events as the real history has them: `<Type>StateEntered` and `<Type>StateExited` for each state
 * (Fail only enters); for each try of a Task also TaskScheduled, TaskStarted, and TaskSucceeded, TaskFailed or
 * TaskTimedOut. A caught error exits its state, a retry enters nothing anew. The end of the execution is one more.
 */
export function createHistory(execution: ExecutionRecord): { log(event: WorkflowEvent): void; end(): void } {
  /** Whether the current try of the Task has ended in an error, which then was its third event. */
  let failed = false;
  return {
    log({ type, state }) {
      if (!state) return;
      const task = state.type === 'Task';
      switch (type) {
        case 'StateEntered':
          failed = false;
          execution.state = state.name;
          execution.transitions += 1;
          execution.historyEvents += task ? 3 : 1;
          break;
        case 'StateFailed':
          failed = true;
          execution.historyEvents += task ? 1 : 0;
          break;
        case 'StateRetried':
          failed = false;
          execution.transitions += 1;
          execution.historyEvents += 2;
          break;
        case 'StateExited':
          execution.historyEvents += task && !failed ? 2 : 1;
          execution.maxPayloadBytes = Math.max(execution.maxPayloadBytes, jsonBytes(state.output));
          if (isObject(state.output)) Object.assign(execution.payload, state.output);
          break;
        default:
      }
    },
    end() {
      execution.historyEvents += 1;
    },
  };
}

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value ?? null));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
