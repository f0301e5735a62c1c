/** Rollouts that meet a Karpenter and an API server that are away for a while: one at a time, since all racks do. */
import { describe } from 'vitest';
import { ASK, it, MINUTES, SOON, succeeded } from '../on-karpenter.ts';
import type { World } from '../world.ts';

export const racksOfAway = ['restarts'];

export function away(world: () => World): void {
  describe('while neighbours are away', { timeout: 8 * MINUTES }, () => {
    it('a rollout goes on: Karpenter is killed and comes back, and the API server restarts', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'restarts', { parameters: SOON });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await world().killKarpenter();
      await it.set(ASK);
      await it.patched('required/1');
      await world().stopApiServer();
      await world().startApiServer();
      await it.modified(kept, 'required/1');
      expect(await it.machine(kept.claim)).toMatchObject({
        protected: true,
        cordoned: false,
        drifted: false,
      });
      expect(it.executions().at(-1)?.payload['waitsFor']).toMatch(/Karpenter may not be running|live mod/);
      await world().startKarpenter();
      await it.becomes(kept, { cordoned: true });
      expect(it.fate('kept')?.ended).toBeUndefined();
      await it.endBuild('kept', 10);
      expect(await it.concluded(240)).toMatchObject(succeeded);
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      await it.gone(kept);
      await it.settled('required/1');
    });
  });
}
