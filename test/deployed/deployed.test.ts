/** The package as it is, deployed: rollouts by its own functions, workflow, rules and schedule, in real time. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { z } from 'zod';
import { ASK, keep, MINUTES, SOON, succeeded } from '../karpenter/on-karpenter.ts';
import { documentedStates, historyTable, order, visitsOf } from './history.ts';
import { hashes, linesOf, rackOf } from './on-ministack.ts';
import { imdsRollout } from './rack.ts';
import { demandsTls, inventory } from './inventory.ts';
import { deploy, nextRelease, presentRelease, remove } from './stack.ts';
import { startDeployedWorld, type DeployedWorld } from './world.ts';

let world: DeployedWorld;

const racks = { tightened: SOON, stopped: {}, upgraded: {} };

beforeAll(async () => {
  world = await startDeployedWorld(racks);
}, 10 * MINUTES);

afterAll(async () => {
  keep('ministack', world.ministack.part.said(), 'deployed');
  keep('karpenter', world.karpenterSaid(), 'deployed');
  await world[Symbol.asyncDispose]();
}, MINUTES);

const NEXT = 'the next release';

describe.concurrent('the deployed stack', { timeout: 12 * MINUTES }, () => {
  it('goes from `aws ssm put-parameter` to Succeeded, and the running Build survives', async ({
    expect,
    ...test
  }) => {
    const rack = rackOf(world, test, 'tightened');
    const [idle, kept] = await rack.busy('idle', 'kept');
    if (idle === undefined || kept === undefined) throw new Error('two were busy');
    await rack.endBuild('idle', 0);
    await world.until('the idle node is idle', () => rack.fate('idle')?.ended !== undefined);

    await rack.put(ASK);
    const execution = await rack.execution();
    await rack.gone(idle);
    await rack.modified(kept, 'required/1');
    expect(rack.fate('kept')?.ended).toBeUndefined();
    await rack.endBuild('kept', 10);
    expect(await rack.ended(execution)).toMatchObject(succeeded);
    expect(rack.fate('kept')?.ended?.how).toBe('succeeded');
    await rack.settled('required/1');

    expect(await imdsRollout(world, 'report', '-r', 'tightened', '--verify')).toContain(': unchanged: ');
    const visits = visitsOf(
      await world.ministack.aws('stepfunctions', 'get-execution-history', '--execution-arn', execution),
    );
    const table = historyTable(visits);
    console.info(table);
    keep('history', table, 'deployed');
    expect(order(visits.map(({ state }) => state))).toEqual(order(documentedStates()));
  });

  it('cleans up after an execution that was stopped, and reconcile lets go when the Build has ended', async ({
    expect,
    ...test
  }) => {
    const rack = rackOf(world, test, 'stopped');
    const [kept] = await rack.busy('kept');
    if (kept === undefined) throw new Error('one was busy');
    await rack.put(ASK);
    const execution = await rack.execution();
    await rack.held(kept);
    await world.ministack.aws('stepfunctions', 'stop-execution', '--execution-arn', execution);
    expect(await rack.ended(execution)).toMatchObject({ status: 'ABORTED' });
    await rack.concluded('Aborted');
    expect(await rack.record()).toMatchObject({ holdsMayExist: true });
    expect(await rack.machine(kept.claim)).toMatchObject({ cordoned: true, protected: true });
    await rack.endBuild('kept', 0);
    await rack.gone(kept);
    expect(rack.fate('kept')?.ended?.how).toBe('succeeded');
    await world.until('reconcile says what it did', async () =>
      (await linesOf(world, 'reconcile')).some((line) => line.includes('"did":"table"')),
    );
  });

  it('is upgraded while a rollout runs, which goes on with the new functions', async ({
    expect,
    ...test
  }) => {
    const rack = rackOf(world, test, 'upgraded');
    const [kept] = await rack.busy('kept');
    if (kept === undefined) throw new Error('one was busy');
    await rack.put(ASK);
    const execution = await rack.execution();
    await rack.held(kept);
    const before = await hashes(world);
    await deploy(world.ministack, nextRelease(NEXT));
    const after = await hashes(world);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    expect(Object.entries(after).filter(([name, hash]) => before[name] === hash)).toEqual([]);
    await rack.endBuild('kept', 0);
    expect(await rack.ended(execution)).toMatchObject(succeeded);
    expect(rack.fate('kept')?.ended?.how).toBe('succeeded');
    await rack.settled('required/1');
    await world.until('Conclude of the next release has run', async () =>
      (await linesOf(world, 'conclude')).includes(NEXT),
    );
  });
});

it('left no event that no function could take', { timeout: MINUTES }, async ({ expect }) => {
  const { QueueUrls: [queue = ''] = [] } = z
    .object({ QueueUrls: z.array(z.string()).optional() })
    .parse(
      await world.ministack.aws('sqs', 'list-queues', '--queue-name-prefix', 'imds-rollout-DeadLetters'),
    );
  const answer = await world.ministack.aws('sqs', 'receive-message', '--queue-url', queue);
  expect(answer).toBeUndefined();
});

it(
  'leaves the bucket of reports and the parameters when it is removed',
  { timeout: 5 * MINUTES },
  async ({ expect }) => {
    const { ministack } = world;
    const before = await inventory(ministack);
    for (const [kind, names] of Object.entries(before)) expect(names, kind).not.toEqual([]);
    for (const rack of Object.keys(racks)) await imdsRollout(world, 'rack', 'remove', rack, '--keep');
    await remove(ministack, presentRelease());
    const { buckets, parameters, ...left } = await inventory(ministack);
    expect(Object.entries(left).filter(([, names]) => names.length > 0)).toEqual([]);
    const [reports = '', ...others] = buckets;
    expect([reports, ...others]).toEqual([expect.stringContaining('reportbucket')]);
    expect(await demandsTls(ministack, reports)).toBe(true);
    const objects = await ministack.aws(
      's3api',
      'list-objects-v2',
      '--bucket',
      reports,
      '--query',
      'Contents[].Key',
    );
    expect(objects).toContainEqual(expect.stringMatching(/^tightened\/.*\.json$/));
    expect(parameters.filter((name) => !name.startsWith('/racks/'))).toEqual([]);
    expect(parameters).toContain('/racks/tightened/karpenter_build_imds_tokens');
  },
);
