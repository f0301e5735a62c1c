/** Lambda's runtime for one bundle, as a process of its own: imports its handler and answers one event after the other. */
import type { Context } from 'aws-lambda';
import type { Answer, Invocation } from './sandbox.ts';

type Handler = (event: unknown, context: Context) => Promise<unknown>;

const [, , bundle = ''] = process.argv;

/** As a test has it, so that what the function waits for by the clock is over sooner. */
let clockIsAhead = 0;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...from: [] | ConstructorParameters<DateConstructor>) {
    if (from.length === 0) super(RealDate.now() + clockIsAhead);
    else super(...from);
  }
  static override now(): number {
    return RealDate.now() + clockIsAhead;
  }
} as DateConstructor;

// As Lambda has it, a module that cannot be loaded fails every invocation.
const loading = import(bundle) as Promise<{ handler: Handler }>;
loading.catch(() => undefined);

async function answerTo({ id, event, context, deadline, ahead }: Invocation): Promise<Answer> {
  clockIsAhead = ahead;
  try {
    const { handler } = await loading;
    const getRemainingTimeInMillis = (): number => Math.max(0, deadline - RealDate.now());
    return {
      id,
      result: (await handler(event, { ...context, getRemainingTimeInMillis } as Context)) ?? null,
    };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { id, error: { name, message } };
  }
}

process.on('message', (invocation: Invocation) => {
  void answerTo(invocation).then((answer) => process.send?.(answer));
});
process.on('disconnect', () => {
  process.exit();
});
