/** Lambda's runtime for one bundle, as a process of its own: imports its handler and answers one event after the other. */
import type { Context } from 'aws-lambda';
import type { Answer, Invocation } from './sandbox.ts';

type Handler = (event: unknown, context: Context) => Promise<unknown>;

const [, , bundle = ''] = process.argv;
// As Lambda has it, a module that cannot be loaded fails every invocation.
const loading = import(bundle) as Promise<{ handler: Handler }>;
loading.catch(() => undefined);

async function answerTo({ id, event, context, deadline }: Invocation): Promise<Answer> {
  try {
    const { handler } = await loading;
    const getRemainingTimeInMillis = (): number => Math.max(0, deadline - Date.now());
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
