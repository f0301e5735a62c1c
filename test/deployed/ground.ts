/** What the stack is deployed into: ministack as the account, and the parts of a real cluster. */
import { startParts, untilSo, type Parts } from '../karpenter/world.ts';
import { askingSts } from './identity.ts';
import { startMinistack, type Ministack } from './ministack.ts';

export interface Ground extends Parts {
  ministack: Ministack;
}

export async function startGround(): Promise<Ground> {
  const { MINISTACK: bin } = process.env;
  if (bin === undefined) throw new Error('start this with `npm run test:aws`');
  await using stack = new AsyncDisposableStack();
  let sts = '';
  const parts = stack.use(await startParts(askingSts(() => sts)));
  const ministack = stack.use(await startMinistack(bin, parts.neighbours.endpoint));
  sts = ministack.endpoint;
  const running = () => [...parts.running(), ministack.part];
  const kept = stack.move();
  return {
    ...parts,
    running,
    until: untilSo(running),
    ministack,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
