/** The metrics of steps and of reconcile: what was counted, by rack, and nothing that nobody counted. */
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createHandler as createReconcile } from '../../functions/reconcile/create-handler.ts';
import { createTask } from '../../functions/shared/task.ts';
import type { ReconcilePorts } from '../../rollout/reconcile.ts';
import type { Concluding, Counts, Rolling } from '../../rollout/state.ts';
import { onRack, RACK, type Rack } from './rack.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const clockAt = (second: number) => ({ now: () => new Date(at(second)) });
const context = { functionName: 'any', awsRequestId: '1' } as Context;

const counted: Counts = {
  right: 3,
  wrong: 2,
  unknown: 0,
  off: 0,
  held: 1,
  buildsOnHeldNodes: 1,
  waitingBuilds: 0,
};

const state: Rolling = {
  schemaVersion: 1,
  rack: 'demo',
  execution: 'demo-1',
  startedAt: at(0),
  looks: 1,
  next: 'look',
  lookAgainIn: 20,
  generation: 'g',
  target: { httpTokens: 'required' },
  restoring: [],
  policy: {
    strategy: 'graceful',
    deadline: 3600,
    stragglers: 'modify',
    drainTimeout: 43_200,
    classWriter: 'service',
    approval: 'loosening',
  },
  patchedAt: at(40),
  wholeLookAt: at(40),
};

const emf = z.looseObject({ _aws: z.unknown() });

let written: string[];
beforeEach(() => {
  written = [];
  // Powertools has a console of its own.
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What was published, without CloudWatch's own directions. */
function published(): Record<string, unknown>[] {
  return written
    .map((line) => emf.safeParse(JSON.parse(line)).data)
    .filter((line) => line !== undefined)
    .map(({ _aws: _directions, ...values }) => values);
}

async function step(
  second: number,
  run: (state: Rolling) => Rolling | Concluding,
): Promise<Record<string, unknown>[]> {
  const task = createTask('observe', { clock: clockAt(second) }, async (now) => run(now));
  await task({ execution: state.execution, startedAt: state.startedAt, state }, context);
  return published();
}

describe('a look', () => {
  test('publishes what it counted, by rack', async () => {
    expect(await step(100, (now) => ({ ...now, counts: counted }))).toEqual([
      {
        service: 'imds-rollout',
        rack: 'demo',
        RolloutAgeSeconds: 100,
        NonCompliantInstances: 2,
        UnknownInstances: 0,
        HeldNodes: 1,
      },
    ]);
  });

  test('tells how long the longest hold has stood, where there is one', async () => {
    const [metrics] = await step(100, (now) => ({ ...now, counts: counted, oldestHoldSince: at(30) }));
    expect(metrics).toMatchObject({ OldestHoldSeconds: 70 });
  });

  test.each<[string, Partial<Counts>, number, number | undefined]>([
    ['wrong after the deadline', {}, 3700, 60],
    ['unknown after the deadline', { wrong: 0, unknown: 1 }, 3700, 60],
    ['right after the deadline', { wrong: 0 }, 3700, undefined],
    ['wrong at the deadline', {}, 3640, undefined],
  ])('tells how late it is: %s', async (_, counts, second, late) => {
    const [metrics] = await step(second, (now) => ({ ...now, counts: { ...counted, ...counts } }));
    expect(metrics?.['SecondsPastDeadline']).toBe(late);
  });

  test('that knows not all instances does not say that none is wrong', async () => {
    const [metrics] = await step(100, (now) => ({ ...now, counts: { ...counted, wrong: 0, unknown: 5 } }));
    expect(metrics).toMatchObject({ UnknownInstances: 5 });
    expect(metrics).not.toHaveProperty('NonCompliantInstances');
  });
});

test('a step that passes on what was counted earlier publishes nothing', async () => {
  const task = createTask('hold-and-patch', { clock: clockAt(100) }, async (now) => now);
  await task(
    { execution: state.execution, startedAt: state.startedAt, state: { ...state, counts: counted } },
    context,
  );
  expect(published()).toEqual([]);
});

test('reconcile tells its age from the second time on', async () => {
  let second = 0;
  const ports = {
    clock: { now: () => new Date(at(second)) },
    records: { registrations: async () => [] },
  } as unknown as ReconcilePorts;
  const reconcile = createReconcile(ports);
  await reconcile({}, context);
  second = 121;
  await reconcile({}, context);
  expect(published()).toEqual([
    { service: 'imds-rollout', RacksVisited: 0 },
    { service: 'imds-rollout', RacksVisited: 0, ReconcileAgeSeconds: 121 },
  ]);
});

describe('a visit of reconcile', () => {
  /** What a visit of the rack publishes under the rack's name, by a function that has just been started. */
  async function visit({ world }: Rack): Promise<Record<string, unknown>[]> {
    process.env['POWERTOOLS_METRICS_DISABLED'] = 'false';
    written = [];
    await createReconcile(world.account.ports)({}, context);
    return published().filter(({ rack }) => rack === 'demo');
  }

  const held = (rack: Rack): number =>
    rack.world.cluster
      .objects('Node')
      .filter(({ metadata }) => metadata.annotations?.['imds-rollout/hold'] !== undefined).length;

  async function rollUntil(rack: Rack, isThere: () => boolean): Promise<void> {
    await rack.world.account.ports.workflow.start('demo-1', 'demo');
    for (let seconds = 0; !isThere() && seconds < 3600; seconds += 1) await rack.pass(1);
  }

  const stop = async (rack: Rack): Promise<void> => {
    rack.world.account.stepFunctions.stop('demo-1');
    await rack.pass(180);
  };

  test('tells what is held, since when, and how instances stand, after its rollout was stopped', () =>
    onRack(RACK, async (rack) => {
      await rollUntil(rack, () => held(rack) === 1 && rack.world.cluster.objects('Node').length === 1);
      await stop(rack);
      const [metrics] = await visit(rack);
      expect(metrics).toMatchObject({ HeldNodes: 1, NonCompliantInstances: 1, UnknownInstances: 0 });
      expect(metrics?.['OldestHoldSeconds']).toBeGreaterThan(180);
      expect(metrics).not.toHaveProperty('RolloutAgeSeconds');
    }));

  test('tells the age of a rollout that runs, and leaves what it counts to its looks', () =>
    onRack(RACK, async (rack) => {
      await rollUntil(rack, () => held(rack) > 0);
      const [metrics] = await visit(rack);
      expect(Object.keys(metrics ?? {}).sort()).toEqual(['RolloutAgeSeconds', 'rack', 'service']);
    }));

  test('says nothing of instances where nothing is asked', () =>
    onRack(RACK, async (rack) => {
      await rollUntil(rack, () => held(rack) > 0);
      await stop(rack);
      rack.world.account.parameterStore.set('demo', 'karpenter_enabled', 'false');
      const [metrics] = await visit(rack);
      expect(metrics).toHaveProperty('HeldNodes');
      expect(metrics).not.toHaveProperty('NonCompliantInstances');
      expect(metrics).not.toHaveProperty('UnknownInstances');
    }));

  test('publishes nothing of a rack that it could not read', () =>
    onRack(
      `${RACK}faults: [{ api: "kubernetes:*", error: ServiceUnavailable, from: 0s }]\n`,
      async (rack) => {
        process.env['POWERTOOLS_METRICS_DISABLED'] = 'false';
        written = [];
        await expect(createReconcile(rack.world.account.ports)({}, context)).rejects.toThrow();
        expect(published()).toEqual([{ service: 'imds-rollout', RacksVisited: 0 }]);
      },
    ));
});
