/** A rack is read into a scenario: what that plays is what would have come of the rack, key by key. */
import fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readRack } from '../../cli/forecast/read.ts';
import type { Product, World } from '../../simulator/run/world.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { runScenario } from '../../simulator/run/run.ts';
import type { RunResult } from '../../simulator/run/result.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { scenarioText } from '../random-scenario.ts';
import { command, scenarioFile, small, temporaryFolder, type Ended } from './command.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Longer ones show the same and take their time. */
const DAYS = 2 * 86_400_000;

const nobody = { check: () => [], atEnd: () => [] };
const product: Promise<Product> = loadProduct();

/** The world of the scenario as it is at the moment. */
async function worldAt(scenario: Scenario, until: number): Promise<World> {
  let world: World | undefined;
  await runScenario(scenario, {
    until,
    product: await product,
    invariants: (made) => {
      world = made;
      return nobody;
    },
  });
  if (world === undefined) throw new Error('nothing was played');
  return world;
}

const play = async (scenario: Scenario): Promise<RunResult> =>
  runScenario(scenario, { product: await product, invariants: () => nobody });

async function fromLive(scenario: Scenario): Promise<Scenario> {
  // A neighbour that fails can not be read from.
  const world = await worldAt({ ...scenario, faults: [] }, 0);
  const { ports } = world.account;
  const read = await readRack({ rack: scenario.rack, ports, reads: world.planReads });
  if ('missing' in read) throw new Error(read.missing);
  return loadScenario(read.text, 'live.yaml');
}

it('says of a canary that a scenario cannot be told of it', async () => {
  const text = readFileSync('test/scenarios/canary-healthy.yaml', 'utf8');
  // The canary bakes.
  const world = await worldAt(loadScenario(text, 'canary-healthy.yaml'), 5 * 60_000);
  const read = await readRack({ rack: 'demo', ports: world.account.ports, reads: world.planReads });
  expect(JSON.stringify(read)).toContain('busy-1 is a canary: here it is none');
  expect(JSON.stringify(read)).not.toContain('idle is a canary');
});

/** What was read, with what cannot be seen at the start: what comes, and how long Builds and neighbours take. */
function withHidden(read: Scenario, original: Scenario): Scenario {
  const { name, runFor, seed, timeline, faults, karpenter, ec2, clocks, serviceAccounts } = original;
  const { parameters } = original;
  return {
    ...read,
    ...{ name, runFor, seed, timeline, faults, karpenter, ec2, clocks, serviceAccounts },
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([key, stored]) => [key, read.parameters[key] ?? stored]),
    ),
    nodes: read.nodes.map((node) => {
      const hidden = original.nodes.find((each) => each.name === node.name);
      return {
        ...node,
        metadataNoToken: hidden?.metadataNoToken ?? null,
        builds: [
          ...node.builds.map((build) => {
            const its = hidden?.builds.find((each) => each.name === build.name);
            if (its === undefined) throw new Error(`there is no Build ${build.name}`);
            const { runsFor, usesImds, usesImdsAt } = its;
            return { ...build, runsFor, usesImds, usesImdsAt };
          }),
          ...(hidden?.builds.filter(({ startsAt }) => startsAt > 0) ?? []),
        ],
      };
    }),
  };
}

/** What there is at the start that a scenario from a live rack cannot have. */
function isReadable({ registered, nodes, classes, pools }: Scenario): boolean {
  const bare = nodes.some(({ pods }) => pods.some(({ ownedBy }) => ownedBy === null));
  return registered && !bare && pools['build'] !== undefined && classes[pools['build'].class] !== undefined;
}

const folder = 'test/scenarios';
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.yaml') && file !== 'coverage.yaml',
);
const scenarios = files
  .map((file) => loadScenario(readFileSync(join(folder, file), 'utf8'), file))
  .filter(isReadable);

describe('a scenario that is read from the world of a scenario plays to the same', () => {
  it('has most scenarios to be read', () => {
    expect(scenarios.length / files.length).toBeGreaterThan(0.9);
  });

  it.each(scenarios.filter(({ runFor }) => runFor <= DAYS))('$name', async (scenario) => {
    expect(await play(withHidden(await fromLive(scenario), scenario))).toEqual(await play(scenario));
  });

  it('by chance', async () => {
    await fc.assert(
      fc.asyncProperty(scenarioText, async (text) => {
        const scenario = loadScenario(text, 'by-chance.yaml');
        expect(await play(withHidden(await fromLive(scenario), scenario))).toEqual(await play(scenario));
      }),
      { numRuns: 10, seed: 20260302 },
    );
  });
});

describe('simulate --from-live', () => {
  const asked = small().replace('parameters:', 'parameters:\n  DATABASE_URL: postgres://u:hunter2@db/x');
  const at = (file: string, ...more: string[]): Ended =>
    command(['simulate', '--from-live', file, '--scenario', scenarioFile(asked), '--at', '3m', ...more]);

  it('writes what it reads of a rollout under way, says what it leaves out, and plays it', () => {
    const file = join(temporaryFolder(), 'live.yaml');
    const { status, stdout, stderr } = at(file, '--json');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `written to ${file}
left out: execution demo-59081402, which runs: another takes its place, and goes by what it has written
left out: 1 parameters of the rack that this service does not read
left out: EC2NodeClass build: what this service wrote on it for people to read
`,
    });
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'Succeeded', violations: [], buildsLost: 0 });
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^# Rack demo of cluster demo-cluster, read at 2026-03-02T09:03:00\.000Z\.$/m);
    expect(text).toMatch(/^# - a Build runs for 15m \(P50\) to /m);
    expect(text).not.toContain('hunter2');
    const { nodes, record } = loadScenario(text, file);
    expect(nodes.find(({ name }) => name === 'busy')).toMatchObject({
      drifted: true,
      cordoned: true,
      doNotDisrupt: true,
      hold: { before: { doNotDisrupt: null, unschedulable: false } },
      builds: [{ name: 'b-1', startsAt: -8 * 60_000 }],
    });
    expect(record).toMatchObject({ holdsMayExist: true, baseline: { httpTokens: 'optional' } });
  });

  it('overwrites nothing, and says what does not go together', () => {
    const file = scenarioFile('mine');
    expect(at(file)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `${file} exists already: give the name of a file that does not\n`,
    });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(command(['simulate', file, '--rack', 'demo']).stderr).toBe('--rack goes with --from-live FILE\n');
    expect(command(['simulate']).stderr).toMatch(/^which scenario\? Give a file, or --from-live FILE/);
    expect(command(['simulate', 'one.yaml', '--from-live', 'other.yaml']).stderr).toBe(
      '--from-live writes other.yaml and plays it: one.yaml is one file too many\n',
    );
  });

  it('says what it may not read, and guesses nothing', () => {
    const blind = scenarioFile(`${small()}faults: [{api: 'kubernetes:list Pod', error: Forbidden}]\n`);
    const file = join(temporaryFolder(), 'live.yaml');
    const { status, stderr } = command(['simulate', '--from-live', file, '--scenario', blind, '--at', '70s']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^there is nothing to play: the Pods of the cluster cannot be read: Forbidden: /);
  });
});

it('reads a rack, and every call on record is a read', async () => {
  const scenario = loadScenario(small(), 'small.yaml');
  const world = await worldAt(scenario, 180_000);
  const before = world.audit.length;
  const { ports } = world.account;
  expect(await readRack({ rack: 'demo', ports, reads: world.planReads })).not.toHaveProperty('missing');
  const calls = world.audit.slice(before);
  expect(calls.length).toBeGreaterThan(8);
  expect(calls.filter(({ write }) => write)).toEqual([]);
});
