/**
 * Lambda: runs the real handlers, each invocation on its own, with a caller that the gate sees, a time-out, the errors
 * in Lambda's own form, and deaths at the wish of a scenario. Events and answers are JSON and nothing else, as there.
 */
import type { Context } from 'aws-lambda';
import type { RunningClock } from './clock.ts';
import { asInvocation, outsideInvocations, type Invocation } from './invocation.ts';
import { functionArn, uuid } from './names.ts';
import type { Chance } from '../parts.ts';

/** A function's handler, as `createHandler` builds it. */
export type Handler = (event: unknown, context: Context) => Promise<unknown>;

/**
 * Why an invocation failed, as Lambda answers: the error's type and the payload `{errorType, errorMessage, trace}`.
 * Its name and message are what Step Functions makes of it: Error = errorType, Cause = the payload as JSON.
 */
class FunctionError extends Error {
  constructor(errorType: string, errorMessage: string, trace: readonly string[] = []) {
    super(JSON.stringify({ errorMessage, errorType, trace }));
    this.name = errorType;
  }
}

export interface Lambda {
  /** A synchronous invocation, as by Step Functions. Rejects with a FunctionError. */
  invoke(functionName: string, event: unknown, execution?: string): Promise<unknown>;
  /** An asynchronous invocation, as by EventBridge: two retries, after one and two minutes, then the event is dropped. */
  invokeLater(functionName: string, event: unknown): void;
  /** The next invocation of the function dies. */
  crashNext(functionName: string, when: 'before' | 'after'): void;
  /** Invocations that have not answered yet, by function. */
  running(): readonly string[];
  /** Asynchronous invocations that were given up, for the diagnosis of a run. */
  dropped: readonly { functionName: string; at: Date; error: string }[];
}

/** The service's functions have 120 s. */
const defaultTimeout = 120_000;
/** Lambda's own waits before the two retries of an asynchronous invocation. */
const retryDelays = [60_000, 120_000];

export function createLambda(options: {
  clock: RunningClock;
  chance: Chance;
  /** Builds the handler; called once for each function, at its first invocation. */
  handlerOf: (functionName: string) => Handler;
  timeout?: number;
}): Lambda {
  const { clock, chance, handlerOf, timeout = defaultTimeout } = options;
  const handlers = new Map<string, Handler>();
  const crashes = new Map<string, ('before' | 'after')[]>();
  const running: string[] = [];
  const dropped: { functionName: string; at: Date; error: string }[] = [];

  const warm = (functionName: string): Handler => {
    const handler = handlers.get(functionName) ?? handlerOf(functionName);
    handlers.set(functionName, handler);
    return handler;
  };

  const run = async (
    functionName: string,
    event: unknown,
    execution: string | undefined,
  ): Promise<unknown> => {
    const crash = crashes.get(functionName)?.shift();
    const requestId = uuid(chance);
    if (crash === 'before') throw died(requestId);
    const invocation: Invocation = {
      caller: {
        function: functionName,
        ...(execution === undefined ? {} : { execution }),
        invocation: requestId,
      },
    };
    const deadline = clock.now().getTime() + timeout;
    const answer = asInvocation(invocation, async () =>
      warm(functionName)(asJson(event), lambdaContext(functionName, requestId, deadline)),
    ).then(asJson, (error: unknown) => {
      throw asFunctionError(error);
    });
    const late = new Promise<never>((_resolve, reject) => {
      const cancel = clock.after(timeout, () => {
        const error = new FunctionError(
          'Sandbox.Timedout',
          `RequestId: ${requestId} Error: Task timed out after ${(timeout / 1000).toFixed(2)} seconds`,
        );
        invocation.ended = error;
        reject(error);
      });
      answer.then(cancel, cancel);
    });
    const result = await Promise.race([answer, late]);
    if (crash === 'after') throw died(requestId);
    return result;
  };

  const invoke: Lambda['invoke'] = async (functionName, event, execution) => {
    running.push(functionName);
    try {
      return await run(functionName, event, execution);
    } finally {
      running.splice(running.indexOf(functionName), 1);
    }
  };

  const attempt = (functionName: string, event: unknown, retries: readonly number[]): void => {
    invoke(functionName, event).catch((error: unknown) => {
      const [delay, ...left] = retries;
      if (delay === undefined) {
        dropped.push({ functionName, at: clock.now(), error: String(error) });
        return;
      }
      clock.after(delay, () => {
        attempt(functionName, event, left);
      });
    });
  };

  return {
    invoke: (functionName, event, execution) =>
      outsideInvocations(() => invoke(functionName, event, execution)),
    invokeLater(functionName, event) {
      outsideInvocations(() => {
        attempt(functionName, event, retryDelays);
      });
    },
    crashNext(functionName, when) {
      crashes.set(functionName, [...(crashes.get(functionName) ?? []), when]);
    },
    running: () => running,
    dropped,
  };

  function lambdaContext(functionName: string, requestId: string, deadline: number): Context {
    return {
      callbackWaitsForEmptyEventLoop: true,
      functionName,
      functionVersion: '$LATEST',
      invokedFunctionArn: functionArn(functionName),
      memoryLimitInMB: '256',
      awsRequestId: requestId,
      logGroupName: `/aws/lambda/imds-rollout-${functionName}`,
      logStreamName: `${clock.now().toISOString().slice(0, 10)}/[$LATEST]`,
      getRemainingTimeInMillis: () => Math.max(0, deadline - clock.now().getTime()),
      // Node 24 has no callback handlers, so the three methods for them are missing.
    } as Context;
  }
}

function died(requestId: string): FunctionError {
  return new FunctionError(
    'Runtime.ExitError',
    `RequestId: ${requestId} Error: Runtime exited with error: signal: killed`,
  );
}

/** What Lambda's Node runtime makes of a thrown value. */
function asFunctionError(error: unknown): FunctionError {
  if (error instanceof FunctionError) return error;
  if (!(error instanceof Error)) return new FunctionError('string', String(error));
  return new FunctionError(error.name, error.message, (error.stack ?? '').split('\n').slice(0, 5));
}

function asJson(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}
