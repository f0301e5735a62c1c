/** A Lambda's sandbox: one bundle in a process of its own, with the environment of its function and nothing else. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Context } from 'aws-lambda';
import type { Handler } from '../../../simulator/account/lambda.ts';

export interface Invocation {
  id: number;
  event: unknown;
  /** Without its functions, which are no JSON. */
  context: Partial<Context>;
  /** Milliseconds since 1970. */
  deadline: number;
  /** How many milliseconds the function's clock is put forward by. */
  ahead: number;
}

export type Answer =
  { id: number; result: unknown } | { id: number; error: { name: string; message: string } };

export interface Sandbox extends AsyncDisposable {
  handler: Handler;
}

const bootstrap = fileURLToPath(new URL('bootstrap.ts', import.meta.url));

/** `ahead` is by how many milliseconds its clock is put forward, asked before each invocation. */
export function startSandbox(
  bundle: string,
  environment: Record<string, string>,
  ahead: () => number,
): Sandbox {
  const child = fork(bootstrap, [bundle], {
    env: environment,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  child.on('message', (answer: Answer) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('result' in answer) asked?.resolve(answer.result);
    else asked?.reject(Object.assign(new Error(answer.error.message), { name: answer.error.name }));
  });
  const ended = new Promise<void>((resolve) => {
    child.on('exit', () => {
      const error = Object.assign(new Error(`the sandbox ended: ${said}`), { name: 'Runtime.ExitError' });
      for (const { reject } of waiting.values()) reject(error);
      resolve();
    });
  });

  let invocations = 0;
  const invoke = (event: unknown, context: Context): Promise<unknown> =>
    new Promise((resolve, reject) => {
      invocations += 1;
      waiting.set(invocations, { resolve, reject });
      const deadline = Date.now() + context.getRemainingTimeInMillis();
      const invocation: Invocation = { id: invocations, event, context, deadline, ahead: ahead() };
      child.send(invocation);
    });

  let last: Promise<unknown> = Promise.resolve();
  return {
    // One event at a time, as in a sandbox of Lambda.
    handler: (event, context) => {
      const answer = last.then(() => invoke(event, context));
      last = answer.catch(() => undefined);
      return answer;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
