import { expect, test } from 'vitest';
import type { Instance } from '../../../rollout/ec2.ts';
import { InvalidError, NotFoundError, TransientError } from '../../../rollout/errors.ts';
import { inWorld, type World } from './world.ts';

const loose = { httpTokens: 'optional', httpPutResponseHopLimit: 3, httpEndpoint: 'enabled' } as const;
const strict = { httpTokens: 'required', httpPutResponseHopLimit: 1, httpEndpoint: 'enabled' } as const;
const tags = { 'eks:eks-cluster-name': 'demo', 'karpenter.k8s.aws/ec2nodeclass': 'build' };

function launch({ account }: World, options: typeof loose | typeof strict = loose): string {
  return account.ec2.machines.launch({ zone: 'eu-west-1a', tags, metadataOptions: options }).instanceId;
}

const find = ({ account }: World, instanceIds: string[] = []): Promise<Instance[]> =>
  account.ports.instances.find({ cluster: 'demo', nodeClass: 'build', instanceIds });

test('a modification is pending at once and applied after the delay', async () => {
  await inWorld({ ec2: { applyDelay: 2_000 } }, async (world) => {
    const id = launch(world);
    world.account.ec2.begin();
    const applied: string[] = [];
    world.account.ec2.machines.onApplied(({ instanceId }) => applied.push(instanceId));
    await world.account.ports.instances.modifyMetadataOptions(id, strict);
    expect(await find(world)).toMatchObject([{ metadataOptions: { ...strict, state: 'pending' } }]);
    await world.until(1_999);
    expect(applied).toEqual([]);
    await world.until(2_000);
    expect(applied).toEqual([id]);
    expect(await find(world)).toMatchObject([{ metadataOptions: { ...strict, state: 'applied' } }]);
    expect(world.account.ec2.history[0]).toMatchObject({
      atStart: loose,
      modifiedAt: new Date('2026-03-02T09:00:00Z'),
    });
  });
});

test('a later modification starts the wait anew, and the end of the instance ends it', async () => {
  await inWorld({ ec2: { applyDelay: 2_000 } }, async (world) => {
    const [first, second] = [launch(world), launch(world)];
    world.account.ec2.begin();
    const applied: string[] = [];
    world.account.ec2.machines.onApplied(({ instanceId, metadataOptions }) => {
      applied.push(`${instanceId} ${String(metadataOptions?.httpTokens)}`);
    });
    await world.account.ports.instances.modifyMetadataOptions(first, strict);
    await world.account.ports.instances.modifyMetadataOptions(second, strict);
    await world.until(1_000);
    await world.account.ports.instances.modifyMetadataOptions(first, loose);
    world.account.ec2.machines.terminate(second, 'drift');
    await world.until(2_999);
    expect(applied).toEqual([]);
    await world.until(3_000);
    expect(applied).toEqual([`${first} optional`]);
  });
});

test('the bucket empties, refills at its rate, and strangers take their share of the refill', async () => {
  const accepted = async (strangers: number): Promise<number[]> => {
    const counts: number[] = [];
    await inWorld(
      { ec2: { modifyBucket: { capacity: 10, refillPerSecond: 5, strangers } } },
      async (world) => {
        const id = launch(world);
        const burst = async (): Promise<number> => {
          let count = 0;
          for (let call = 0; call < 30; call += 1) {
            await world.account.ports.instances.modifyMetadataOptions(id, strict).then(
              () => (count += 1),
              (error: unknown) => {
                expect(error).toBeInstanceOf(TransientError);
                expect(error).toHaveProperty('cause.name', 'RequestLimitExceeded');
              },
            );
          }
          return count;
        };
        counts.push(await burst());
        await world.until(1_000);
        counts.push(await burst());
        expect(world.gate.calls.get('ec2:ModifyInstanceMetadataOptions')?.throttled).toBe(
          60 - counts.reduce((a, b) => a + b),
        );
      },
    );
    return counts;
  };
  expect(await accepted(0)).toEqual([10, 5]);
  expect(await accepted(0.4)).toEqual([10, 3]);
});

test('an account that enforces tokens refuses optional, at launch too', async () => {
  await inWorld({ ec2: { httpTokensEnforced: true } }, async (world) => {
    // Instances that are older than the enforcement keep what they have.
    const older = launch(world);
    world.account.ec2.begin();
    expect(await find(world)).toMatchObject([
      { instanceId: older, metadataOptions: { httpTokens: 'optional' } },
    ]);
    const id = launch(world, strict);
    const error = await world.account.ports.instances
      .modifyMetadataOptions(id, loose)
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InvalidError);
    expect(error).toHaveProperty('cause.name', 'UnsupportedOperation');
    expect(() => launch(world)).toThrow('UnsupportedOperation');
    expect(await world.account.ports.instances.accountDefaults()).toMatchObject({ httpTokensEnforced: true });
  });
});

test('an instance shuts down for a while, refuses changes, and is gone', async () => {
  await inWorld({}, async (world) => {
    const id = launch(world);
    world.account.ec2.machines.terminate(id, 'drift');
    expect(await find(world)).toMatchObject([{ instanceId: id, state: 'shutting-down' }]);
    await expect(world.account.ports.instances.modifyMetadataOptions(id, strict)).rejects.toMatchObject({
      cause: { name: 'IncorrectInstanceState' },
    });
    await world.until(60_000);
    expect(await find(world, [id])).toEqual([]);
    await expect(world.account.ports.instances.modifyMetadataOptions(id, strict)).rejects.toBeInstanceOf(
      NotFoundError,
    );
    expect(world.account.ec2.history).toMatchObject([{ endedBy: 'drift' }]);
  });
});

test('instances are found by tags and by ids together, each once', async () => {
  await inWorld({}, async (world) => {
    const tagged = launch(world);
    const other = world.account.ec2.machines.launch({
      zone: 'a',
      tags: {},
      metadataOptions: loose,
    }).instanceId;
    for (const foreign of ['eks:eks-cluster-name', 'karpenter.k8s.aws/ec2nodeclass']) {
      const foreignTags = { ...tags, [foreign]: 'other' };
      world.account.ec2.machines.launch({ zone: 'a', tags: foreignTags, metadataOptions: loose });
    }
    expect((await find(world)).map(({ instanceId }) => instanceId)).toEqual([tagged]);
    expect((await find(world, [other, tagged, 'i-unknown'])).map(({ instanceId }) => instanceId)).toEqual([
      tagged,
      other,
    ]);
  });
});

test('stale reads lag, but never by more than the scenario says', async () => {
  await inWorld({ ec2: { readStaleness: 10_000, applyDelay: 0 } }, async (world) => {
    const id = launch(world);
    world.account.ec2.begin();
    await world.until(60_000);
    await world.account.ports.instances.modifyMetadataOptions(id, strict);
    await world.until(61_000);
    const tokens = async (): Promise<string | undefined> =>
      (await find(world))[0]?.metadataOptions?.httpTokens;
    const early = new Set<string | undefined>();
    for (let look = 0; look < 50; look += 1) early.add(await tokens());
    expect(early).toEqual(new Set(['optional', 'required']));
    await world.until(70_001);
    for (let look = 0; look < 50; look += 1) expect(await tokens()).toBe('required');
  });
});
