import { afterEach, expect, test, vi } from 'vitest';
import { resultSchema } from '../../../simulator/run/result.ts';
import type { World } from '../../../simulator/run/world.ts';
import { noInvariants, productOf, run, type Act } from './product.ts';

const minute = 60_000;
const oneSet = `
name: one-set
runFor: 4h
nodes: [{ name: idle, pool: build }, { pool: build, builds: [{ name: b, runsFor: 10m, startsAt: -5m }] }]
pools: { build: {}, workload: { class: build } }
timeline: [{ at: 1m, set: { imds_http_tokens: required } }]
`;

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a run gives the result that the contract describes, and nothing else', async () => {
  const result = await run(oneSet);
  expect(resultSchema.parse(result)).toEqual(result);
  expect(result).toMatchObject({
    outcome: 'Succeeded',
    reason: 'nothing to it',
    rollouts: [{ generation: 'abc', outcome: 'Succeeded', transitions: 4 }],
    buildsLost: 0,
    builds: [{ name: 'b', node: 'build-1', outcome: 'finished' }],
    parameters: { imds_http_tokens: 'required' },
    seed: 1,
  });
  expect(result.instances.map(({ node, pool }) => [node, pool])).toEqual([
    ['idle', 'build'],
    ['build-1', 'build'],
  ]);
  const [rollout] = result.rollouts;
  expect(rollout?.compliantAt).toBe(rollout?.endedAt);
});

test('the run ends 30 minutes after the last change, or at runFor', async () => {
  const { rollouts, virtualSeconds } = await run(oneSet);
  const lastChange = Math.max(
    300,
    (Date.parse(rollouts[0]?.endedAt ?? '') - Date.parse('2026-03-02T09:00:00Z')) / 1000,
  );
  expect(virtualSeconds).toBeGreaterThanOrEqual(lastChange + 1_800);
  expect(virtualSeconds).toBeLessThan(lastChange + 1_800 + 300);
  expect((await run(oneSet.replace('4h', '3m'))).virtualSeconds).toBe(180);
  expect((await run(oneSet, { until: 2 * minute })).virtualSeconds).toBe(120);
});

test.each([
  [
    'an entry still to be played',
    oneSet.replace('timeline: [', 'timeline: [{ at: 3h, unset: [release] }, '),
    30,
  ],
  ['a Build that still runs', oneSet.replace('runsFor: 10m', 'runsFor: 185m'), 30],
  ['an execution that still runs', oneSet, 3 * 3_600],
])('nothing has changed for long, but %s keeps the run going', async (_what, scenario, settleSeconds) => {
  const { virtualSeconds } = await run(scenario, { product: productOf({}, settleSeconds) });
  expect(virtualSeconds).toBeGreaterThanOrEqual(3 * 3_600);
});

test("parameters of the start send no event, and an entry's fate is that of the next set alone", async () => {
  let events = 0;
  const scenario = oneSet
    .replace('timeline: [', 'timeline: [{ at: 50s, event: doubled }, ')
    .replace('required } }]', 'required } }, { at: 2m, unset: [release] }]')
    .concat('parameters: { release: "3.24.10" }');
  await run(scenario, { functions: { 'parameter-changed': () => (events += 1) } });
  expect(events).toBe(3);
});

test('a Build that starts on its node later is not there before', async () => {
  const seen = new Map<number, number>();
  await run(oneSet.replace('startsAt: -5m', 'startsAt: 5m'), {
    onStep: ({ cluster, clock, startedAt }) => {
      seen.set(Math.floor((clock.now().getTime() - startedAt.getTime()) / minute), cluster.builds().length);
    },
  });
  expect([seen.get(4), seen.get(5)]).toEqual([0, 1]);
});

test('a reconcile that writes keeps the run going', async () => {
  const writes: Act = (_event, { notices }) => notices.send({ type: 'still here', detail: {} });
  expect((await run(oneSet, { functions: { reconcile: writes } })).virtualSeconds).toBe(4 * 3_600);
});

test('the same seed gives the same run, another seed another', async () => {
  const first = await run(oneSet, { seed: 7 });
  expect(await run(oneSet, { seed: 7 })).toEqual(first);
  expect((await run(oneSet, { seed: 8 })).rollouts).not.toEqual(first.rollouts);
});

test('an outcome that ends in a Fail state is its Error, and a stop by hand is Aborted', async () => {
  const refused = { outcome: 'Refused', reason: 'imds_http_tokens: Required' };
  expect(await run(oneSet, { functions: { plan: () => refused } })).toMatchObject(refused);
  const stopped = oneSet.replace('timeline: [', 'timeline: [{ at: 80s, stopExecution: true }, ');
  expect(await run(stopped)).toMatchObject({ outcome: 'Aborted', rollouts: [{ outcome: 'Aborted' }] });
  const broken = {
    plan: (): never => {
      throw new Error('no such thing');
    },
  };
  expect(await run(oneSet, { functions: broken })).toMatchObject({
    outcome: 'Failed',
    reason: expect.stringContaining('no such thing') as unknown,
  });
});

test('what a handler does without a timer takes no virtual time, however long the chain', async () => {
  const deep = async (depth: number): Promise<void> => {
    if (depth > 0) await deep(depth - 1);
  };
  const plan: Act = async (_event, { clock }) => {
    const before = clock.now();
    for (let round = 0; round < 50; round += 1) await deep(100);
    return { outcome: 'Succeeded', reason: String(clock.now().getTime() - before.getTime()) };
  };
  const seen: string[] = [];
  const onStep = ({ executions }: World): void => {
    const [execution] = executions;
    if (execution) seen.push(execution.status);
  };
  const result = await run(oneSet, { functions: { plan }, onStep });
  expect(result.reason).toBe('0');
  const [rollout] = result.rollouts;
  expect(Date.parse(rollout?.endedAt ?? '') - Date.parse(rollout?.startedAt ?? '')).toBe(30_000);
  expect(new Set(seen)).toEqual(new Set(['RUNNING', 'SUCCEEDED']));
});

test('entries of one moment play as written, and the steps of a person are in the audit', async () => {
  const keys: (string | undefined)[] = [];
  const twice = oneSet.replace(
    'timeline: [',
    'timeline: [{ at: 1m, set: { release: "3.24.10" } }, { at: 1m, unset: [release] }, { at: 1m, unset: [never_set] }, ',
  );
  await run(twice, {
    until: 2 * minute,
    invariants: (world) => {
      world.onAudit(({ caller, api, target }) => {
        if (caller.function === 'person') keys.push(`${api} ${String(target)}`);
      });
      return noInvariants;
    },
  });
  expect(keys).toEqual([
    'ssm:PutParameter /racks/demo/release',
    'ssm:DeleteParameter /racks/demo/release',
    'ssm:PutParameter /racks/demo/imds_http_tokens',
  ]);
});

test('invariants are asked at every write, at most once for each other instant, and at the end', async () => {
  const reads: Act = (_event, { parameters }) =>
    Promise.all(['a', 'b', 'c'].map((rack) => parameters.list(rack)));
  const asked: string[] = [];
  const result = await run(oneSet, {
    functions: {
      reconcile: reads,
      plan: async (_event, { notices }) => notices.send({ type: 'told', detail: {} }),
    },
    invariants: ({ clock }) => ({
      check: () => {
        asked.push(clock.now().toISOString());
        return [];
      },
      atEnd: () => [{ invariant: '7 ends-well', at: clock.now().toISOString(), what: 'nothing held' }],
    }),
  });
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(4);
  expect(result.violations).toMatchObject([{ invariant: '7 ends-well' }]);
});

test('time and environment are real again after a run, also after one that broke', async () => {
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'DEBUG');
  const before = { setTimeout, Date };
  let during = '';
  const breaks = run(oneSet, {
    onStep: () => {
      during = process.env['POWERTOOLS_LOG_LEVEL'] ?? '';
      throw new Error('the view broke');
    },
  });
  await expect(run(oneSet)).rejects.toThrow('one by one');
  await expect(breaks).rejects.toThrow('the view broke');
  expect(during).toBe('SILENT');
  expect({ setTimeout, Date }).toEqual(before);
  expect(process.env['POWERTOOLS_LOG_LEVEL']).toBe('DEBUG');
  await run(oneSet);
});
