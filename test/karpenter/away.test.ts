/** Rollouts that meet a Karpenter and an API server that are away for a while: one at a time, since all racks do. */
import { describe } from 'vitest';
import { ASK, it, PATIENT, SOON, succeeded, worldOf } from './on-karpenter.ts';

const world = worldOf('away', ['restarts', 'outage']);

const OUTAGE_MS = 65_000;

describe('while neighbours are away', PATIENT, () => {
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
    expect(await it.concluded()).toMatchObject(succeeded);
    expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    await it.gone(kept);
    await it.settled('required/1');
  });

  it('a rollout outlives an API server that is away for more than a minute, and Karpenter with it', async ({
    expect,
    rackOf,
  }) => {
    const it = await rackOf(world(), 'outage');
    const [kept] = await it.busy('kept');
    if (kept === undefined) throw new Error('one was busy');
    await it.set(ASK);
    await it.becomes(kept, { cordoned: true, protected: true, drifted: true });
    await world().killKarpenter();
    await world().stopApiServer();
    const over = Date.now() + OUTAGE_MS;
    await world().until('the API server has been away for more than a minute', () => Date.now() > over);
    expect(it.executions().at(-1)?.status).toBe('RUNNING');
    await world().startApiServer();
    await world().startKarpenter();
    await it.becomes(kept, { cordoned: true, protected: true, drifted: true });
    expect(it.fate('kept')?.ended).toBeUndefined();
    await it.endBuild('kept', 5);
    await it.gone(kept);
    expect(it.fate('kept')?.ended?.how).toBe('succeeded');
    expect(await it.concluded()).toMatchObject(succeeded);
    await it.settled('required/1');
  });
});
