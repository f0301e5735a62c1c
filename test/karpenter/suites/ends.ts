/** Rollouts that end otherwise than by success, and what reconcile does for what they leave behind. */
import { describe } from 'vitest';
import { ASK, it, MINUTES, PATIENT, SOON, type TestedRack } from '../on-karpenter.ts';
import { startProduct } from '../product.ts';
import type { World } from '../world.ts';

export const racksOfEnds = ['waits', 'fails', 'stopped', 'withdrawn'];

/** Longer than a Lambda outlives its execution. */
const OUTLIVES_MS = 2 * MINUTES;

export function ends(world: () => World): void {
  /** The table is kept for what is still held: the node goes when its Build has ended, and not before. */
  const leavesByReconcile = async (it: TestedRack, build: string): Promise<void> => {
    const kept = await it.machineOf(build);
    if (kept === undefined) throw new Error(`the machine of ${build} is gone`);
    await it.product.reconcile();
    await it.becomes(kept, { cordoned: true, protected: true });
    await it.endBuild(build, 0);
    await it.reconciled(`the machine of ${build} is gone`, async () => !(await it.machine(kept.claim)));
  };

  describe.concurrent('a rollout that does not succeed', PATIENT, () => {
    it('waits for stragglers where it is told to, and fails at the drain time-out', async ({
      expect,
      rackOf,
    }) => {
      const parameters = { ...SOON, imds_rollout_stragglers: 'wait', imds_rollout_drain_timeout: '30s' };
      const it = await rackOf(world(), 'waits', { parameters, product: await startProduct('waits') });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await it.set(ASK);
      const { status, error, cause } = await it.concluded();
      expect([status, error]).toEqual(['FAILED', 'Failed']);
      expect(cause).toContain(`still wrong at the drain time-out: ${kept.node ?? ''}`);
      expect(await it.machine(kept.claim)).toMatchObject({ options: 'optional/2' });
      await leavesByReconcile(it, 'kept');
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      expect(it.executions()).toHaveLength(1);
    });

    it('fails at the deadline where it is told to', async ({ expect, rackOf }) => {
      const parameters = { ...SOON, imds_rollout_stragglers: 'fail' };
      const it = await rackOf(world(), 'fails', { parameters, product: await startProduct('fails') });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await it.set(ASK);
      const { status, error, cause } = await it.concluded();
      expect([status, error]).toEqual(['FAILED', 'Failed']);
      expect(cause).toContain(`still wrong at the deadline: ${kept.node ?? ''}`);
      expect(await it.machine(kept.claim)).toMatchObject({ options: 'optional/2' });
      await leavesByReconcile(it, 'kept');
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      expect(it.executions()).toHaveLength(1);
    });

    it('is cleaned up after by reconcile where it is stopped by hand', async ({ expect, rackOf }) => {
      const product = await startProduct('stopped');
      const it = await rackOf(world(), 'stopped', { product });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      // A step that dies with everything done is begun again, and does nothing twice.
      product.crashNext('hold-and-patch', 'after');
      await it.set(ASK);
      await it.becomes(kept, { cordoned: true, protected: true });
      const [{ name } = { name: '' }] = it.executions();
      product.stop(name);
      expect(await it.concluded()).toMatchObject({ status: 'ABORTED' });
      const { records } = product.ports;
      await it.reconciled(
        'its end is on record',
        async () => (await records.read('stopped')).last !== undefined,
      );
      expect((await records.read('stopped')).last).toMatchObject({ outcome: 'Aborted', execution: name });
      await it.patched('required/1');
      await leavesByReconcile(it, 'kept');
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      product.putForward(OUTLIVES_MS);
      await it.reconciled('nothing may be held', async () => !(await records.read('stopped')).holdsMayExist);
      expect(it.executions()).toHaveLength(1);
    });

    it('is withdrawn where the rack has no build nodes any more, and loses no Build', async ({
      expect,
      rackOf,
    }) => {
      const product = await startProduct('withdrawn');
      const it = await rackOf(world(), 'withdrawn', { product });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await it.set(ASK);
      await it.becomes(kept, { cordoned: true, protected: true });
      const [rollout] = it.executions();
      await it.set({ build_node_enabled: 'false' });
      await world().until('the rollout has ended', () => rollout?.status !== 'RUNNING');
      expect(rollout).toMatchObject({ status: 'SUCCEEDED', output: { outcome: 'Withdrawn' } });
      await leavesByReconcile(it, 'kept');
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    });
  });
}
