/** The stack deployed on ministack, with the real Karpenter and a real API server as its cluster, for a run. */
import { startParts, untilSo, type Parts } from '../karpenter/world.ts';
import { askingSts } from './identity.ts';
import { startMinistack, type Ministack } from './ministack.ts';
import { createDeployedRack, type DeployedRack } from './rack.ts';
import { deploy, PRESENT } from './stack.ts';

/** What the stack is deployed into. */
export interface Ground extends Parts {
  ministack: Ministack;
}

export interface DeployedWorld extends Ground {
  rack(name: string): DeployedRack;
}

/** `racks` are registered, one after the other, each with its parameters by key. */
export async function startDeployedWorld(
  racks: Readonly<Record<string, Record<string, string>>>,
): Promise<DeployedWorld> {
  await using stack = new AsyncDisposableStack();
  const ground = stack.use(await startGround());
  await deploy(ground.ministack, PRESENT);
  const registered = new Map<string, DeployedRack>();
  for (const [name, parameters] of Object.entries(racks)) {
    registered.set(name, await createDeployedRack(ground, name, parameters));
  }
  const kept = stack.move();
  return {
    ...ground,
    rack(name) {
      const rack = registered.get(name);
      if (rack === undefined) throw new Error(`no rack ${name} is registered`);
      return rack;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startGround(): Promise<Ground> {
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
