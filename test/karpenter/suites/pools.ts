/** What a pool or a pod says of disruptions, and what becomes of a rollout that meets it. */
import { describe } from 'vitest';
import { DO_NOT_DISRUPT } from '../../../rollout/naming.ts';
import { ASK, it, MINUTES, PATIENT, SOON, succeeded } from '../on-karpenter.ts';
import { startProduct } from '../product.ts';
import type { World } from '../world.ts';

export const racksOfPools = ['grace-period', 'no-budget', 'used-up', 'annotated'];

/** Longer than a Build waits before one of our cordons is lifted for it. */
const STARVING_MS = 5 * MINUTES;

export function pools(world: () => World): void {
  describe.concurrent('what stands in the way of a rollout', PATIENT, () => {
    it('is, of a Build, no grace period of its node: only what is no Build is taken when that is over', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'grace-period', { pool: { terminationGracePeriod: '20s' } });
      const served = await it.serve('service');
      await it.startBuild('kept', { annotations: { [DO_NOT_DISRUPT]: 'true' } });
      const kept = await it.running('kept').then(() => it.machineOf('kept'));
      if (kept === undefined) throw new Error('one was busy');
      await it.set(ASK);
      // The budget allows no eviction, and the grace period passes it over.
      await it.gone(served);
      expect(it.fate('kept')?.ended).toBeUndefined();
      expect(await it.machine(kept.claim)).toMatchObject({ drifted: true, cordoned: true, protected: true });
      await it.endBuild('kept', 5);
      await it.gone(kept);
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(world().ec2.modifications.filter(({ instanceId }) => instanceId === kept.instanceId)).toEqual(
        [],
      );
      await it.settled('required/1');
    });

    it('is a budget of 0, which is named; all is modified live, and replaced once the budget allows it', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'no-budget', { pool: { budget: '0' }, parameters: SOON });
      const [idle, kept] = await it.busy('idle', 'kept');
      if (idle === undefined || kept === undefined) throw new Error('two were busy');
      await it.endBuild('idle', 0);
      await it.set(ASK);
      await it.modified(idle, 'required/1');
      await it.modified(kept, 'required/1');
      await it.endBuild('kept', 5);
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      const { stragglers, blockers } = await it.report();
      const budget = /No allowed disruptions for disruption reason Drifted due to blocking budget/;
      expect(stragglers.find(({ node }) => node === idle.node)?.why).toMatch(budget);
      expect(blockers.find(({ node }) => node === idle.node)?.why).toMatch(budget);
      expect(await it.machine(idle.claim)).toMatchObject({ drifted: true, protected: false });
      await it.budget('100%');
      await it.gone(idle);
      await it.gone(kept);
    });

    it('is a limit of the pool that wrong nodes use up: a node is lent to a Build that waits', async ({
      expect,
      rackOf,
    }) => {
      const product = await startProduct('used-up');
      const it = await rackOf(world(), 'used-up', { product, pool: { cpu: '2' } });
      const [full] = await it.busy('long');
      if (full === undefined) throw new Error('one was busy');
      await it.aloneWith(full);
      await it.set(ASK);
      await it.becomes(full, { cordoned: true, protected: true });
      await it.startBuild('waiting', { cpu: '300m' });
      await world().until('the Build waits', async () => {
        const counts = it.executions().at(-1)?.payload['counts'] as { waitingBuilds?: number } | undefined;
        return counts?.waitingBuilds === 1;
      });
      expect(await it.machines()).toHaveLength(1);
      product.putForward(STARVING_MS);
      expect((await it.running('waiting')).node).toBe(full.node);
      await it.becomes(full, { cordoned: true, protected: true });
      await it.endBuild('waiting', 0);
      await it.endBuild('long', 10);
      await it.gone(full);
      expect([it.fate('long'), it.fate('waiting')]).toMatchObject([
        { ended: { how: 'succeeded' } },
        { ended: { how: 'succeeded' } },
      ]);
      expect(await it.concluded()).toMatchObject(succeeded);
    });

    it('is a pod that says do-not-disrupt: its node is modified live, and the pod is named', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'annotated', { parameters: SOON });
      const kept = await it.serve('service', 'annotation');
      await it.set(ASK);
      await it.modified(kept, 'required/1');
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(await it.machine(kept.claim)).toMatchObject({ drifted: true, protected: false });
      expect((await it.report()).stragglers).toMatchObject([
        { node: kept.node, why: expect.stringContaining(`annotated ${DO_NOT_DISRUPT}`) as string },
      ]);
    });
  });
}
