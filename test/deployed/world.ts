/** The stack deployed on ministack, with the real Karpenter and a real API server as its cluster, for a run. */
import { startGround, type Ground } from './ground.ts';
import { createDeployedRack, type DeployedRack } from './rack.ts';
import { deploy, presentRelease } from './stack.ts';

export interface DeployedWorld extends Ground {
  rack(name: string): DeployedRack;
}

/** `racks` are registered, one after the other, each with its parameters by key. */
export async function startDeployedWorld(
  racks: Readonly<Record<string, Record<string, string>>>,
): Promise<DeployedWorld> {
  await using stack = new AsyncDisposableStack();
  const ground = stack.use(await startGround());
  await deploy(ground.ministack, presentRelease());
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
