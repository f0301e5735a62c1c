/** What the default scenario must come to, line by line, whatever the chance. */
import { readFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { purposeOf } from '../rollout/purpose.ts';
import { emptyRecord } from '../rollout/record.ts';
import { reportSchema } from '../rollout/report.ts';
import type { RunResult } from '../simulator/run/result.ts';
import type { World } from '../simulator/run/world.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import { playTraced } from './trace.ts';

vi.setConfig({ testTimeout: 60_000 });

const file = 'default.yaml';
const scenario = loadScenario(readFileSync(new URL(`scenarios/${file}`, import.meta.url), 'utf8'), file);
const minute = 60_000;
const start = Date.parse(scenario.startsAt);
const at = (instant: string | null | undefined): number => (Date.parse(instant ?? '') - start) / minute;

const strict = { httpTokens: 'required', httpPutResponseHopLimit: 1, state: 'applied' };

/** Whether some running build instance is not right. */
function isSomeWrong(world: World): boolean {
  return world.account.ec2.history.some(
    ({ instance, terminatedAt }) =>
      terminatedAt === undefined &&
      instance.state === 'running' &&
      instance.tags['karpenter.sh/nodepool'] === 'build' &&
      !(
        instance.metadataOptions?.httpTokens === 'required' &&
        instance.metadataOptions.httpPutResponseHopLimit === 1 &&
        instance.metadataOptions.state === 'applied'
      ),
  );
}

async function play(played: Scenario, seed: number) {
  let wrongAt = Number.NaN;
  const { result, world } = await playTraced(played, {
    seed,
    onStep: (stepped) => {
      if (isSomeWrong(stepped)) wrongAt = (stepped.clock.now().getTime() - start) / minute;
    },
  });
  const instanceOf = (node: string): RunResult['instances'][number] => {
    const found = result.instances.find((instance) => instance.node === node);
    if (found === undefined) throw new Error(`there was no node ${node}`);
    return found;
  };
  const buildOf = (name: string): RunResult['builds'][number] => {
    const found = result.builds.find((build) => build.name === name);
    if (found === undefined) throw new Error(`there was no Build ${name}`);
    return found;
  };
  return { result, world, wrongAt, instanceOf, buildOf };
}

const gone = expect.stringMatching(/^(drift|emptiness)$/) as unknown;

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('tighten-while-building, seed %i', async (seed) => {
  const { result, world, wrongAt, instanceOf, buildOf } = await play(scenario, seed);

  // One execution, Succeeded, concluded within a few minutes of build-monorepo's end; generation for required/1.
  expect(result.rollouts.map(({ outcome }) => outcome)).toEqual(['Succeeded']);
  const [rollout] = result.rollouts;
  expect(at(rollout?.endedAt)).toBeGreaterThanOrEqual(170);
  expect(at(rollout?.endedAt)).toBeLessThanOrEqual(176);
  const uid = world.cluster.object('EC2NodeClass', 'build')?.metadata.uid ?? '';
  const asked = { httpTokens: 'required', httpPutResponseHopLimit: 1 } as const;
  expect(rollout?.generation).toBe(
    purposeOf({ ask: asked, policy: { classWriter: 'service' } }, emptyRecord, uid).generation,
  );

  // idle-1, idle-2: gone by drift or emptiness, never modified, not necessarily replaced one for one.
  for (const node of ['idle-1', 'idle-2'])
    expect(instanceOf(node)).toMatchObject({ endedBy: gone, modifiedAt: null, atEnd: null });

  // busy-4m to busy-40m: their Builds finished where they ran; the node gone afterwards; never modified.
  const busy = { 'busy-4m': 4, 'busy-12m': 12, 'busy-25m': 25, 'busy-40m': 40 };
  for (const [node, endsAt] of Object.entries(busy)) {
    expect(result.builds.find((build) => build.node === node)).toMatchObject({ outcome: 'finished' });
    expect(instanceOf(node)).toMatchObject({ endedBy: gone, modifiedAt: null });
    expect(at(instanceOf(node).terminatedAt)).toBeGreaterThan(endsAt);
  }

  // busy-3h: modified at the deadline or just after; its Build finished with changedUnder; gone only after that.
  expect(at(instanceOf('busy-3h').modifiedAt) - at(rollout?.startedAt)).toBeGreaterThanOrEqual(60.5);
  expect(at(instanceOf('busy-3h').modifiedAt) - at(rollout?.startedAt)).toBeLessThan(63);
  expect(buildOf('build-monorepo')).toMatchObject({
    node: 'busy-3h',
    outcome: 'finished',
    changedUnder: true,
  });
  expect(at(instanceOf('busy-3h').terminatedAt)).toBeGreaterThan(170);

  // blocked: modified; still there, cordoned; named with its PDB; not waited for.
  expect(instanceOf('blocked')).toMatchObject({
    modifiedAt: expect.any(String) as unknown,
    atEnd: strict,
    endedBy: null,
  });
  expect(result.held).toEqual([
    { node: 'blocked', cordoned: true, protected: false, why: expect.stringMatching(/\bcache\b/) as unknown },
  ]);
  expect(result.reason).toMatch(/blocked .*PodDisruptionBudget cache/);

  // build-late, build-later: finished, on nodes that are required/1, having waited less than 10 minutes.
  for (const name of ['build-late', 'build-later']) {
    const { node, outcome, waitedSeconds } = buildOf(name);
    expect(outcome).toBe('finished');
    expect(waitedSeconds).toBeLessThan(600);
    expect(optionsOf(world, node)).toMatchObject(asked);
  }

  // Workload instances: as at the start, never modified, alive.
  const workload = result.instances.filter(({ pool }) => pool === 'workload');
  expect(workload).toHaveLength(3);
  for (const { atStart, atEnd, modifiedAt, terminatedAt } of workload)
    expect({ atEnd, modifiedAt, terminatedAt }).toEqual({
      atEnd: atStart,
      modifiedAt: null,
      terminatedAt: null,
    });

  // Every running build instance required/1 applied from compliantAt on. violations empty.
  expect(wrongAt).toBeLessThanOrEqual(at(rollout?.compliantAt));
  expect(result.violations).toEqual([]);
});

/** The options that the node's instance had last. */
const optionsOf = (world: World, node: string | null): unknown =>
  world.account.ec2.history.findLast(({ instance }) => world.cluster.nodeOf(instance.instanceId) === node)
    ?.instance.metadataOptions;

describe('the same with imds_rollout_strategy karpenter', () => {
  test('Builds are evicted, and result and report say which', async () => {
    const strategy = { value: 'karpenter', type: 'String' } as const;
    const alone = { ...scenario, parameters: { ...scenario.parameters, imds_rollout_strategy: strategy } };
    const { result, world } = await play(alone, 1);
    const lost = result.builds.filter(({ outcome }) => outcome === 'evicted').map(({ name }) => name);
    expect(lost.length).toBeGreaterThanOrEqual(3);
    expect(result.buildsLost).toBe(lost.length);
    const [rollout] = result.rollouts;
    const [key] = [...world.account.reports.versions.keys()].filter((each) =>
      each.endsWith(`/${rollout?.execution ?? ''}.json`),
    );
    const body = world.account.reports.versions.get(key ?? '')?.at(-1)?.body ?? '';
    const report = reportSchema.parse(JSON.parse(body));
    const evicted = report.builds.filter(({ fate }) => fate === 'evicted').map(({ name }) => name);
    expect(evicted.sort()).toEqual(lost.map((name) => `builds/${name}`).sort());
    expect(result.violations).toEqual([]);
  });
});
