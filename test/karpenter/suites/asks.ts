/** What is asked, and of whom it is taken: options that are inherited, given back one by one, and owned by others. */
import { describe } from 'vitest';
import { ASK, it, PATIENT, succeeded } from '../on-karpenter.ts';
import type { World } from '../world.ts';
import type { Writer } from '../writers.ts';

const writers: Record<string, Writer> = {
  'of-helm': { manager: 'helm', how: 'update' },
  'of-kubectl': { manager: 'kubectl-client-side-apply', how: 'update', remembers: true },
  'of-server-side-kubectl': { manager: 'kubectl', how: 'apply' },
  'of-terraform': { manager: 'Terraform', how: 'apply' },
};

export const racksOfAsks = ['inherited', 'one-of-two', ...Object.keys(writers)];

const BOTH = ['httpPutResponseHopLimit', 'httpTokens'];

export function asks(world: () => World): void {
  describe.concurrent('what is asked', PATIENT, () => {
    it('is inherited from the rack-wide value, and said again for the build nodes it changes nothing', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'inherited');
      const [kept] = await it.busy('kept');
      if (kept === undefined) throw new Error('one was busy');
      await it.set({ imds_http_tokens: 'required' });
      await it.patched('required/2');
      expect(await it.owners()).toMatchObject({ 'imds-rollout': ['httpTokens'] });
      await it.endBuild('kept', 5);
      await it.gone(kept);
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(it.fate('kept')?.ended?.how).toBe('succeeded');
      await it.settled('required/2');

      const { generation } = (await it.nodeClass()).metadata;
      await it.anotherHalfMinute();
      await it.set({ karpenter_build_imds_tokens: 'required' });
      expect(await it.concluded()).toMatchObject({ output: { outcome: 'NothingToDo' } });
      await it.anotherHalfMinute();
      await it.unset('karpenter_build_imds_tokens');
      expect(await it.concluded()).toMatchObject({ output: { outcome: 'NothingToDo' } });
      expect((await it.nodeClass()).metadata.generation).toBe(generation);
    });

    it('of two options is given back alone, and the other stays as it was asked for', async ({
      expect,
      rackOf,
    }) => {
      const it = await rackOf(world(), 'one-of-two', {
        metadataOptions: { httpTokens: 'optional', httpPutResponseHopLimit: 3 },
        parameters: { imds_rollout_approval: 'never' },
      });
      await it.set(ASK);
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(await it.owners()).toMatchObject({ 'imds-rollout': BOTH });
      const [first] = await it.busy('first');
      if (first === undefined) throw new Error('one was busy');
      expect(first.options).toBe('required/1');

      await it.anotherHalfMinute();
      await it.unset('karpenter_build_imds_hop_limit');
      await it.patched('required/3');
      await it.becomes(first, { cordoned: true, protected: true });
      await it.endBuild('first', 5);
      await it.gone(first);
      expect(await it.concluded()).toMatchObject(succeeded);
      expect(it.fate('first')?.ended?.how).toBe('succeeded');
      expect(await it.owners()).toMatchObject({ 'imds-rollout': ['httpTokens'] });
    });
  });

  describe.concurrent('a class that somebody else writes', PATIENT, () => {
    for (const [name, writer] of Object.entries(writers)) {
      it(`is taken from ${writer.manager} by name, and given back without a conflict`, async ({
        expect,
        rackOf,
      }) => {
        const before = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;
        const it = await rackOf(world(), name, {
          writer,
          metadataOptions: before,
          parameters: { imds_rollout_approval: 'never' },
        });
        expect(await it.owners()).toEqual({ [writer.manager]: BOTH });
        await it.set(ASK);
        expect(await it.concluded()).toMatchObject(succeeded);
        const named = (await it.report()).plan?.owners ?? {};
        expect(Object.keys(named)).toEqual([writer.manager]);
        expect(named[writer.manager]?.toSorted()).toEqual(BOTH);
        expect(await it.owners()).toEqual({ 'imds-rollout': BOTH });
        if (writer.how === 'apply') {
          // The API server tells them whose the options are, and leaves the class as it is.
          await expect(it.write(before)).rejects.toThrow(/conflicts? with "imds-rollout"/);
        }

        await it.anotherHalfMinute();
        await it.unset(...Object.keys(ASK));
        expect(await it.concluded()).toMatchObject(succeeded);
        expect((await it.nodeClass()).spec.metadataOptions).toMatchObject(before);
        expect(await it.owners()).toEqual({});
        await it.write({ ...before, httpPutResponseHopLimit: 4 });
        expect((await it.nodeClass()).spec.metadataOptions?.httpPutResponseHopLimit).toBe(4);
        expect(await it.owners()).toHaveProperty([writer.manager]);
      });
    }
  });
}
