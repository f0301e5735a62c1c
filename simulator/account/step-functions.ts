/**
 * Step Functions: runs the service's own definition with aws-local-stepfunctions, its Tasks by the real handlers, and
 * adds what the library leaves to its user: names, idempotence, limits, history and status events.
 */
import {
  ExecutionAbortedError,
  ExecutionTimeoutError,
  StateMachine,
  type RunOptions,
} from 'aws-local-stepfunctions';
import { NotFoundError } from '../../rollout/errors.ts';
import type { Execution, Workflow } from '../../rollout/ports.ts';
import { apiError } from './api-errors.ts';
import type { RunningClock } from './clock.ts';
import { prepareDefinition, waitsForToken, type WrittenDefinition } from './definition.ts';
import { createHistory, isObject, jsonBytes, newExecution, type ExecutionRecord } from './execution.ts';
import type { SimulatedGate } from './gate.ts';
import { outsideInvocations } from './invocation.ts';
import type { Lambda } from './lambda.ts';
import { account, executionArn, functionOf, stateMachineArn, stateMachineName } from './names.ts';
import { createTaskTokens } from './task-tokens.ts';

export interface StepFunctions {
  port: Workflow;
  /** Every execution by start, with what became of it. */
  executions: readonly ExecutionRecord[];
  /** StopExecution by hand: a function in flight goes on, as Lambda's do. False where it does not run. */
  stop(name: string, cause?: string): boolean;
  /** Called at the start and at the end of each execution. */
  onStatus(listener: (execution: ExecutionRecord) => void): void;
}

/** 256 KiB, for a Task's result and for every state's output. */
const payloadLimit = 262_144;
/** Events that an execution's history may have: the end of one that looks too often. */
const historyLimit = 25_000;

/** Neither `States.ALL` nor a Retry gets hold of it; the library reads these two flags. */
class UncatchableError extends Error {
  readonly isRetryable = false;
  readonly isCatchable = false;
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

interface Running {
  execution: ExecutionRecord;
  abort: () => void;
  /** The Task that waits for its token to come back. */
  waiting?: { state: string; token: string };
  /** Set when it is stopped, or ended by a limit: what the end will be, whatever the library says. */
  fate?: { status: 'ABORTED' | 'FAILED'; error?: string; cause?: string };
}

export function createStepFunctions(options: {
  clock: RunningClock;
  gate: SimulatedGate;
  lambda: Lambda;
  definition: WrittenDefinition;
}): StepFunctions {
  const { clock, gate, lambda } = options;
  const definition = prepareDefinition(options.definition);
  // Validating takes longer than many a run, and the definition has a test of its own for that.
  const machine = new StateMachine(definition, { validationOptions: { noValidate: true } });
  const executions: ExecutionRecord[] = [];
  const running = new Map<string, Running>();
  const listeners: ((execution: ExecutionRecord) => void)[] = [];
  const tokens = createTaskTokens();

  const announce = (execution: ExecutionRecord): void => {
    for (const listener of listeners) listener(execution);
  };

  const lifetime = (definition.TimeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  const timedOut = ({ startedAt }: ExecutionRecord): boolean =>
    clock.now().getTime() - startedAt.getTime() >= lifetime;

  /** What stands in for `arn:aws:states:::lambda:invoke` in each Task. */
  const handlers = (
    run: Running,
  ): NonNullable<NonNullable<RunOptions['overrides']>['taskResourceLocalHandlers']> =>
    Object.fromEntries(
      Object.entries(definition.States)
        .filter(([, state]) => state.Type === 'Task')
        .map(([name, state]) => [
          name,
          async (input) => {
            // The library tries a Task again at once when an execution ends while a retry waits.
            if (run.fate || timedOut(run.execution))
              throw new UncatchableError('Aborted', 'the execution ended');
            if (!isObject(input) || typeof input['FunctionName'] !== 'string') {
              throw new UncatchableError('States.Runtime', `Task ${name} names no FunctionName`);
            }
            const functionName = functionOf(input['FunctionName']);
            if (waitsForToken({ ...state }))
              return await waitForToken(run, name, functionName, input['Payload']);
            const answer = await lambda.invoke(functionName, input['Payload'] ?? {}, run.execution.name);
            if (jsonBytes(answer) > payloadLimit) throw tooLarge(name);
            return { ExecutedVersion: '$LATEST', Payload: answer as never, StatusCode: 200 };
          },
        ]),
    );

  /** Invokes the function, whose answer does not count, and waits until somebody brings the token back. */
  const waitForToken = async (run: Running, state: string, functionName: string, payload: unknown) => {
    const token = isObject(payload) ? payload['token'] : undefined;
    if (typeof token !== 'string')
      throw new UncatchableError('States.Runtime', `Task ${state} hands no token on`);
    run.waiting = { state, token };
    const result = tokens.resultOf(token);
    await lambda.invoke(functionName, payload, run.execution.name);
    const answer = await result;
    if (jsonBytes(answer) > payloadLimit) throw tooLarge(state);
    return answer as never;
  };

  /** Whatever the execution does next, it does not wait any more. */
  const closeToken = (run: Running): void => {
    if (run.waiting !== undefined) tokens.close(run.waiting.token);
    delete run.waiting;
  };

  const begin = (name: string, input: { rack: string }): void => {
    const execution = newExecution(name, input, clock.now());
    const run: Running = { execution, abort: () => undefined };
    executions.push(execution);
    running.set(name, run);
    announce(execution);
    // StartExecution has answered before the first state runs.
    queueMicrotask(() => {
      play(run, input);
    });
  };

  const play = (run: Running, input: { rack: string }): void => {
    const { execution } = run;
    const history = createHistory(execution);
    const { abort, result, eventLogs } = machine.run(input, {
      overrides: { taskResourceLocalHandlers: handlers(run) },
      context: contextOf(execution),
    });
    run.abort = abort;
    if (run.fate) abort();
    const read = async (): Promise<void> => {
      for await (const event of eventLogs) {
        if (run.fate) continue;
        const state = 'state' in event ? event.state : undefined;
        // The log is read a little later than it is written: what it says of other states is about the past.
        const isOver = event.type === 'StateFailed' || event.type === 'StateExited';
        if (isOver && state !== undefined && state.name === run.waiting?.state) closeToken(run);
        history.log(state ? { type: event.type, state } : { type: event.type });
        if (state?.output !== undefined && jsonBytes(state.output) > payloadLimit) {
          const error = tooLarge(state.name);
          run.fate = { status: 'FAILED', error: error.name, cause: error.message };
          abort();
        } else if (execution.historyEvents >= historyLimit) {
          run.fate = {
            status: 'FAILED',
            error: 'States.Runtime',
            cause: `The execution reached the maximum number of history events (${String(historyLimit)}).`,
          };
          abort();
        }
      }
    };
    const end = (outcome: Pick<ExecutionRecord, 'status' | 'error' | 'cause' | 'output'>): void => {
      running.delete(execution.name);
      closeToken(run);
      Object.assign(execution, outcome, { endedAt: clock.now() });
      history.end();
      announce(execution);
    };
    // The log is closed with the end, so its last event has been counted when both have settled.
    void Promise.allSettled([result, read()]).then(([settled]) => {
      if (run.fate) end(run.fate);
      else if (settled.status === 'fulfilled') end({ status: 'SUCCEEDED', output: settled.value });
      else end(failure(settled.reason));
    });
  };

  /** The context object, as far as the library does not make it. */
  const contextOf = ({ name }: ExecutionRecord): NonNullable<RunOptions['context']> => ({
    Execution: {
      Id: executionArn(name),
      Name: name,
      RoleArn: `arn:aws:iam::${account}:role/imds-rollout-workflow`,
    },
    StateMachine: { Id: stateMachineArn, Name: stateMachineName },
    // A state's paths are read in the moment it is entered, and again for every try of it.
    Task: {
      get Token() {
        return tokens.issue();
      },
    },
    State: {
      get EnteredTime() {
        return clock.now().toISOString();
      },
    },
  });

  const summary = ({ name, startedAt, endedAt, status }: ExecutionRecord): Execution => ({
    name,
    startedAt: startedAt.toISOString(),
    ...(endedAt !== undefined && { endedAt: endedAt.toISOString() }),
    status,
  });
  const find = (name: string): ExecutionRecord | undefined =>
    executions.find((execution) => execution.name === name);

  return {
    executions,
    onStatus(listener) {
      listeners.push(listener);
    },
    stop(name, cause) {
      const run = running.get(name);
      if (!run || run.fate) return false;
      gate.note({ caller: { function: 'person' }, api: 'states:StopExecution', write: true, target: name });
      run.fate = { status: 'ABORTED', ...(cause === undefined ? {} : { cause }) };
      run.abort();
      return true;
    },
    port: {
      start: (name, rack) =>
        gate.call({ api: 'states:StartExecution', write: true, target: name, body: { rack } }, () => {
          if (!/^[0-9A-Za-z_-]{1,80}$/.test(name)) {
            throw apiError('InvalidName', `Invalid Name: '${name}' (1 to 80 of [0-9A-Za-z_-])`);
          }
          const earlier = find(name);
          if (!earlier) {
            outsideInvocations(() => {
              begin(name, { rack });
            });
            return 'started' as const;
          }
          const same = JSON.stringify(earlier.input) === JSON.stringify({ rack });
          // Otherwise ExecutionAlreadyExists; names stay taken for 90 days, longer than any run.
          return earlier.status === 'RUNNING' && same ? ('started' as const) : ('closed' as const);
        }),
      running: () =>
        gate.call({ api: 'states:ListExecutions', target: stateMachineName }, () =>
          [...running.values()].map(({ execution }) => summary(execution)),
        ),
      answer: async (token, result) => {
        try {
          // Who writes the token down in an audit has written it down.
          await gate.call({ api: 'states:SendTaskSuccess', write: true, target: stateMachineName }, () => {
            tokens.succeed(token, result);
            const answered = [...running.values()].find(({ waiting }) => waiting?.token === token);
            answered?.execution.answers.push(structuredClone(result));
          });
          return 'answered' as const;
        } catch (error) {
          if (error instanceof NotFoundError) return 'gone' as const;
          throw error;
        }
      },
      answers: (name) =>
        gate.call({ api: 'states:GetExecutionHistory', target: name }, () =>
          structuredClone(find(name)?.answers ?? []),
        ),
      describe: (name) =>
        gate.call({ api: 'states:DescribeExecution', target: name }, () => {
          const execution = find(name);
          return execution && summary(execution);
        }),
    },
  };
}

function tooLarge(state: string): UncatchableError {
  return new UncatchableError(
    'States.DataLimitExceeded',
    `The state/task '${state}' returned a result with a size exceeding the maximum number of bytes service limit.`,
  );
}

/** The status, Error and Cause of an execution that the library ended. */
function failure(error: unknown): Pick<ExecutionRecord, 'status' | 'error' | 'cause'> {
  if (error instanceof ExecutionTimeoutError) return { status: 'TIMED_OUT', error: 'States.Timeout' };
  if (error instanceof ExecutionAbortedError) return { status: 'ABORTED' };
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(inner instanceof Error)) return { status: 'FAILED', error: 'States.Runtime', cause: String(inner) };
  return { status: 'FAILED', error: inner.name, cause: inner.message };
}
