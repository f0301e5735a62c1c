/** Whole rollouts on the real Karpenter, in real time: racks of one cluster, side by side. */
import { describe } from 'vitest';
import { ASK, it, PATIENT, SOON, succeeded, worldOf } from './on-karpenter.ts';
import { asks, racksOfAsks } from './suites/asks.ts';

const world = worldOf('rollouts', [
  'graceful',
  'karpenter',
  'immediate',
  'cleared',
  'superseded',
  'in-flight',
  'budget',
  'not-ready',
  ...racksOfAsks,
]);

describe.concurrent('a rollout on the real Karpenter', PATIENT, () => {
  it('loses no Build: each node goes when its Build has ended, and the last is modified live', async ({
    expect,
    rackOf,
  }) => {
    // Long enough for Karpenter to take two nodes among those of other racks: one candidate a pass.
    const it = await rackOf(world(), 'graceful', { parameters: { imds_rollout_deadline: '3m' } });
    const [idle, short, long] = await it.busy('idle', 'short', 'long');
    if (idle === undefined || short === undefined || long === undefined) throw new Error('three were busy');
    await it.endBuild('idle', 0);
    await world().until('the idle node is idle', () => it.fate('idle')?.ended !== undefined);

    await it.set(ASK);
    await it.endBuild('short', 40);
    await it.gone(idle);
    await it.startBuild('new', { runsFor: 30 });
    await it.gone(short);
    expect(it.fate('short')?.ended?.how).toBe('succeeded');
    await it.modified(long, 'required/1');
    expect(it.fate('long')?.ended).toBeUndefined();
    expect((await it.running('new')).node).not.toBe(long.node);
    expect(await it.machineOf('new')).toMatchObject({ options: 'required/1' });
    await it.endBuild('long', 5);

    expect(await it.concluded()).toMatchObject(succeeded);
    expect(it.fate('long')?.ended?.how).toBe('succeeded');
    const report = await it.report();
    const how = (node = ''): string | undefined => report.instances.find((one) => one.node === node)?.how;
    expect([idle, short, long].map(({ node }) => how(node))).toEqual(['replaced', 'replaced', 'modified']);
    expect(report.builds).toEqual(
      expect.arrayContaining([
        { name: 'default/graceful-short', node: short.node, changedUnder: false, fate: 'ended', why: null },
        { name: 'default/graceful-long', node: long.node, changedUnder: true, fate: 'ended', why: null },
      ]),
    );
    await it.settled('required/1');
  });

  it('with strategy karpenter leaves Builds to Karpenter, which evicts them', async ({ expect, rackOf }) => {
    const it = await rackOf(world(), 'karpenter', { parameters: { imds_rollout_strategy: 'karpenter' } });
    await it.busy('lost');
    await it.set(ASK);
    await world().until('the Build is evicted', () => it.fate('lost')?.ended?.how === 'deleted');
    expect(await it.concluded()).toMatchObject(succeeded);
    expect((await it.report()).builds).toMatchObject([{ name: 'default/karpenter-lost', fate: 'evicted' }]);
    await it.settled('required/1');
  });

  it('with strategy immediate modifies what runs before the class is patched', async ({ expect, rackOf }) => {
    const it = await rackOf(world(), 'immediate', { parameters: { imds_rollout_strategy: 'immediate' } });
    const [kept] = await it.busy('kept');
    if (kept === undefined) throw new Error('one was busy');
    await it.set(ASK);
    await it.modified(kept, 'required/1');
    await it.patched('required/1');
    await it.endBuild('kept', 20);
    const ended = await it.concluded();
    expect(ended).toMatchObject(succeeded);
    const modified = world().ec2.modifications.find(({ instanceId }) => instanceId === kept.instanceId);
    expect(modified?.at.getTime()).toBeLessThan(new Date(String(ended.payload['patchedAt'])).getTime());
    expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    await it.gone(kept);
    await it.settled('required/1');
  });

  it('goes back to the baseline when the parameters are cleared', async ({ expect, rackOf }) => {
    const metadataOptions = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;
    const it = await rackOf(world(), 'cleared', {
      metadataOptions,
      parameters: { imds_rollout_approval: 'never' },
    });
    await it.busy('first');
    await it.endBuild('first', 0);
    await it.set(ASK);
    expect(await it.concluded()).toMatchObject(succeeded);
    await it.settled('required/1');

    const [second] = await it.busy('second');
    const before = it.executions().length;
    await it.unset(...Object.keys(ASK));
    await it.endBuild('second', 30);
    await world().until('another rollout runs', () => it.executions().length > before);
    expect(await it.concluded()).toMatchObject(succeeded);
    expect(it.fate('second')?.ended?.how).toBe('succeeded');
    expect((await it.nodeClass()).spec.metadataOptions).toMatchObject(metadataOptions);
    if (second !== undefined) await it.gone(second);
    const managers = (await it.nodeClass()).metadata.managedFields?.map(({ manager }) => manager);
    expect(managers).not.toContain('imds-rollout');
  });

  it('gives way to a newer one, and no Build is lost on the way', async ({ expect, rackOf }) => {
    const metadataOptions = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;
    const it = await rackOf(world(), 'superseded', { metadataOptions, parameters: SOON });
    const [kept] = await it.busy('kept');
    if (kept === undefined) throw new Error('one was busy');
    await it.set({ ...ASK, karpenter_build_imds_hop_limit: '2' });
    await it.patched('required/2');
    const [older] = it.executions();
    // Two changes of one half minute are one rollout by name.
    await world().until('another half minute has begun', () => {
      const bucket = Math.floor(Date.now() / 30_000);
      return !it.executions().some(({ name }) => name.endsWith(`-${bucket}`));
    });
    await it.set({ karpenter_build_imds_hop_limit: '1' });
    await it.patched('required/1');
    await world().until('the older rollout has ended', () => older?.status !== 'RUNNING');
    expect(older).toMatchObject({ status: 'SUCCEEDED', output: { outcome: 'Superseded' } });
    await it.modified(kept, 'required/1');
    expect(it.fate('kept')?.ended).toBeUndefined();
    await it.endBuild('kept', 5);
    expect(await it.concluded()).toMatchObject(succeeded);
    expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    await it.settled('required/1');
  });

  it('protects a NodeClaim that is in flight while the class is patched', async ({ expect, rackOf }) => {
    const it = await rackOf(world(), 'in-flight');
    await it.startBuild('first');
    await world().until('an instance is launched', async () => (await it.machines()).length > 0);
    await it.set(ASK);
    await it.patched('required/1');
    const inFlight = await it.machines();
    for (const machine of inFlight) {
      expect(machine).toMatchObject({ options: 'optional/2' });
      expect(machine).not.toHaveProperty('node');
    }
    await it.running('first');
    const its = await it.machineOf('first');
    if (its === undefined) throw new Error('the Build runs on no machine');
    expect(inFlight.map(({ claim }) => claim)).toContain(its.claim);
    await it.endBuild('first', 30);
    await it.gone(its);
    expect(it.fate('first')?.ended?.how).toBe('succeeded');
    expect(await it.concluded()).toMatchObject(succeeded);
  });

  it('modifies live what a PodDisruptionBudget keeps from being replaced', async ({ expect, rackOf }) => {
    const it = await rackOf(world(), 'budget', { parameters: SOON });
    const kept = await it.serve('service');
    await it.set(ASK);
    await it.modified(kept, 'required/1');
    expect(await it.concluded()).toMatchObject(succeeded);
    expect(await it.machine(kept.claim)).toMatchObject({ drifted: true, protected: false });
    const { stragglers } = await it.report();
    expect(stragglers).toMatchObject([{ node: kept.node }]);
    expect(stragglers[0]?.why).toContain('PodDisruptionBudget budget-service');
  });

  it('lifts nothing while the class is not Ready', async ({ expect, rackOf }) => {
    const it = await rackOf(world(), 'not-ready', { parameters: SOON });
    const [idle, kept] = await it.busy('idle', 'kept');
    if (idle === undefined || kept === undefined) throw new Error('two were busy');
    await it.endBuild('idle', 0);
    await it.breakClass();
    await it.set(ASK);
    await it.modified(idle, 'required/1');
    expect(await it.machine(idle.claim)).toMatchObject({ protected: true, cordoned: false });
    expect(await it.machine(kept.claim)).toMatchObject({ protected: true, options: 'required/1' });
    await it.mendClass();
    await it.gone(idle);
    expect(it.fate('kept')?.ended).toBeUndefined();
    await it.endBuild('kept', 10);
    expect(await it.concluded()).toMatchObject(succeeded);
    expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    await it.settled('required/1');
  });
});

asks(world);
