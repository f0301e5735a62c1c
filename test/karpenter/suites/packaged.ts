/** A rollout by what is deployed: the bundles, their adapters and the workflow of `npm run package`. */
import { afterAll, beforeAll, describe } from 'vitest';
import { createAuthority } from '../../adapters/authority.ts';
import { ASK, it, MINUTES, PATIENT, SOON, succeeded } from '../on-karpenter.ts';
import { unpack, type Package } from '../packaged/package.ts';
import { startPackaged } from '../packaged/product.ts';
import { freePort } from '../processes.ts';
import type { World } from '../world.ts';

export const racksOfPackaged = [
  'packaged',
  'taken-back',
  'stopped-bundles',
  'unreachable',
  'mistaken',
  'unknown-role',
];

/** Longer than a class stands not Ready before its values are taken back. */
const STANDS_MS = 11 * MINUTES;

export function packaged(world: () => World): void {
  describe.concurrent('the product as it is packaged', PATIENT, () => {
    let unpacked: Package;
    beforeAll(async () => {
      unpacked = await unpack();
    }, 4 * MINUTES);
    afterAll(() => unpacked[Symbol.asyncDispose]());

    it('rolls out: nodes are replaced, a Build is kept, and its node is modified live', async ({
      expect,
      rackOf,
    }) => {
      await using product = await startPackaged(unpacked, { name: 'packaged' });
      const it = await rackOf(world(), 'packaged', { product, parameters: SOON });
      const [idle, kept] = await it.busy('idle', 'kept');
      if (idle === undefined || kept === undefined) throw new Error('two were busy');
      await it.endBuild('idle', 0);
      await world().until('the idle node is idle', () => it.fate('idle')?.ended !== undefined);
      await it.set(ASK);
      const [{ name } = { name: '' }] = it.executions();
      await it.gone(idle);
      expect(await product.reconcile()).toMatchObject({
        visits: [{ rack: 'packaged', did: 'nothing', what: `${name} is at it` }],
      });
      await it.modified(kept, 'required/1');
      await it.becomes(kept, { cordoned: true, protected: true, drifted: true });
      expect(it.fate('kept')?.ended).toBeUndefined();
      await it.endBuild('kept', 5);
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      const { instances, builds, outcome } = await it.report();
      expect(outcome).toBe('Succeeded');
      expect(instances.map(({ node, how }) => [node, how])).toEqual(
        expect.arrayContaining([
          [idle.node, 'replaced'],
          [kept.node, 'modified'],
        ]),
      );
      expect(builds).toContainEqual({
        name: 'default/packaged-kept',
        node: kept.node,
        changedUnder: true,
        fate: 'ended',
        why: null,
      });
      await it.gone(kept);
    });

    it('is taken back where Karpenter does not launch from the class for 10 minutes', async ({
      expect,
      rackOf,
    }) => {
      await using product = await startPackaged(unpacked, { name: 'taken-back' });
      const it = await rackOf(world(), 'taken-back', { product });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      const before = (await it.nodeClass()).spec.metadataOptions;
      await it.breakClass();
      await it.set(ASK);
      await it.patched('required/1');
      product.putForward(STANDS_MS);
      await it.patched('optional/2');
      expect(await it.machine(kept.claim)).toMatchObject({ protected: true, cordoned: false });
      await it.mendClass();
      const { status, error, cause } = await it.concluded();
      expect([status, error]).toEqual(['FAILED', 'RolledBack']);
      expect(cause).toMatch(/SecurityGroupsReady=False .*, for 10 minutes/);
      await it.becomes(kept, { protected: false, cordoned: false, drifted: false, options: 'optional/2' });
      expect(it.fate('kept')?.ended).toBeUndefined();
      expect((await it.nodeClass()).spec.metadataOptions).toEqual(before);
      expect(await it.report()).toMatchObject({ outcome: 'RolledBack', stragglers: [] });
      // Decided: nothing is tried again until a parameter is written.
      await product.reconcile();
      expect(it.executions()).toHaveLength(1);
    });

    it('cleans up after an execution that was stopped, and keeps the hold until the Build has ended', async ({
      expect,
      rackOf,
    }) => {
      await using product = await startPackaged(unpacked, { name: 'stopped-bundles' });
      const it = await rackOf(world(), 'stopped-bundles', { product });
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await it.set(ASK);
      await it.becomes(kept, { cordoned: true, protected: true });
      const [{ name } = { name: '' }] = it.executions();
      product.stop(name);
      const { records } = product.ports;
      await world().until(
        'rollout-ended has put the end on record',
        async () => (await records.read('stopped-bundles')).last !== undefined,
      );
      expect((await records.read('stopped-bundles')).last).toMatchObject({
        outcome: 'Aborted',
        execution: name,
      });
      expect(await it.machine(kept.claim)).toMatchObject({ cordoned: true, protected: true });
      await it.endBuild('kept', 0);
      await it.reconciled('its machine is gone', async () => !(await it.machine(kept.claim)));
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    });

    it('says in one sentence that a cluster cannot be reached, or is not the one that EKS means', async ({
      expect,
      rackOf,
    }) => {
      await using product = await startPackaged(unpacked, { name: 'unreachable' });
      const { endpoint } = world().plane;
      const { certificateAuthority } = await createAuthority('kubernetes');
      world().neighbours.claim('nowhere', {
        endpoint: `https://127.0.0.1:${await freePort()}`,
        certificateAuthority,
      });
      world().neighbours.claim('made-again', { endpoint, certificateAuthority });
      for (const [rack, cluster, why] of [
        ['unreachable', 'nowhere', 'ECONNREFUSED'],
        ['mistaken', 'made-again', 'certificate|signature'],
      ] as const) {
        const it = await rackOf(world(), rack, { product, cluster, parameters: ASK });
        const startedAt = new Date().toISOString();
        const event = { execution: `${rack}-1`, startedAt, state: { rack } };
        await expect(product.invoke('plan', event)).rejects.toMatchObject({
          name: 'TransientError',
          // As Lambda answers whoever invoked the function.
          message: expect.stringMatching(
            new RegExp(
              `^\\{"errorMessage":"list nodepools\\.karpenter\\.sh in cluster ${cluster}: [^"]*(${why})`,
            ),
          ) as string,
        });
        expect(await product.ports.records.read(rack)).toMatchObject({ holdsMayExist: false });
        expect(await product.ports.reports.list(`${rack}/`)).toEqual([]);
        expect(await it.owners()).not.toHaveProperty(['imds-rollout']);
      }
    });

    it('ends where the cluster does not know its role, and says what to do', async ({ expect, rackOf }) => {
      await using product = await startPackaged(unpacked, { name: 'unknown-role', accessKeyId: 'stranger' });
      const it = await rackOf(world(), 'unknown-role', { product });
      await it.set(ASK);
      const { status, error, cause } = await it.concluded();
      expect([status, error]).toEqual(['FAILED', 'Failed']);
      expect(cause).toMatch(
        /^ForbiddenError: cluster it does not know the role that this runs as: `imds-rollout rack add`/,
      );
      expect(await product.ports.records.read('unknown-role')).toMatchObject({ holdsMayExist: false });
      expect(await it.owners()).not.toHaveProperty(['imds-rollout']);
    });
  });
}
