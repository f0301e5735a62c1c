/** Whole rollouts on the real Karpenter, in real time: racks of one cluster, side by side. */
import { afterAll, beforeAll, describe, it, onTestFailed } from 'vitest';
import { createRack, type Rack, type RackOptions } from './rack.ts';
import { startWorld, type World } from './world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld(['graceful', 'karpenter']);
}, 300_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const ASK = { karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' };
const MINUTES = 60_000;

async function rack(name: string, options?: RackOptions): Promise<Rack> {
  const made = await createRack(world, name, options);
  onTestFailed(() => {
    console.error(`${name}:\n${made.history.join('\n')}`);
  });
  return made;
}

describe.concurrent('a rollout on the real Karpenter', () => {
  it(
    'loses no Build: each node goes when its Build has ended, and the last is modified live',
    async ({ expect }) => {
      const it = await rack('graceful', { parameters: { imds_rollout_deadline: '1m' } });
      for (const build of ['idle', 'short', 'long']) await it.startBuild(build);
      for (const build of ['idle', 'short', 'long']) await it.running(build);
      await it.endBuild('idle', 0);
      await world.until('the idle node is idle', () => it.fate('idle')?.ended !== undefined);
      const [idle, short, long] = await Promise.all(
        ['idle', 'short', 'long'].map(async (build) => {
          const machine = await it.machineOf(build);
          if (machine === undefined) throw new Error(`Build ${build} has no machine`);
          return machine;
        }),
      );

      await it.set(ASK);
      await it.endBuild('short', 40);
      await it.endBuild('long', 150);
      const there = async (claim: string | undefined) =>
        (await it.machines()).find((machine) => machine.claim === claim);
      await world.until('the idle node is gone', async () => (await there(idle?.claim)) === undefined);
      await it.startBuild('new', 30);
      await world.until(
        'the node of the short Build is gone',
        async () => (await there(short?.claim)) === undefined,
      );
      expect(it.fate('short')?.ended?.how).toBe('succeeded');
      await world.until(
        'the node of the long Build is modified live',
        async () => (await there(long?.claim))?.options === 'required/1',
      );
      expect(it.fate('long')?.ended).toBeUndefined();
      expect((await it.running('new')).node).not.toBe(long?.node);
      expect(await it.machineOf('new')).toMatchObject({ options: 'required/1' });

      const ended = await it.concluded(240);
      expect(ended).toMatchObject({ status: 'SUCCEEDED', output: { outcome: 'Succeeded' } });
      expect(it.fate('long')?.ended?.how).toBe('succeeded');
      await world.until('only right instances are left, and none is held', async () =>
        (await it.machines()).every(
          ({ options, applied, protected: held }) => options === 'required/1' && applied && !held,
        ),
      );
    },
    8 * MINUTES,
  );

  it(
    'with strategy karpenter leaves Builds to Karpenter, which evicts them',
    async ({ expect }) => {
      const it = await rack('karpenter', {
        parameters: { imds_rollout_strategy: 'karpenter', imds_rollout_deadline: '5m' },
      });
      await it.startBuild('lost');
      await it.running('lost');
      await it.set(ASK);
      await world.until('the Build is evicted', () => it.fate('lost')?.ended?.how === 'deleted', 180);
      const ended = await it.concluded(180);
      expect(ended).toMatchObject({ status: 'SUCCEEDED', output: { outcome: 'Succeeded' } });
    },
    8 * MINUTES,
  );
});
