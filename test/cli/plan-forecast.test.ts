/** `plan --forecast`: what it prints and in which forms, where there is none, and that it writes nothing. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { playToMoment } from '../../cli/moment.ts';
import { explainPlan } from '../../cli/plan/explain.ts';
import type { Explanation } from '../../cli/plan/explanation.ts';
import { terminalText } from '../../cli/view/document.ts';
import { planDocument } from '../../cli/view/plan.ts';
import { command, scenarioFile, small } from './command.ts';

vi.setConfig({ testTimeout: 120_000 });

const RUNS = { runs: 6, seed: 3 };
const published = z.fromJSONSchema(
  JSON.parse(readFileSync('schema/plan.schema.json', 'utf8')) as Parameters<typeof z.fromJSONSchema>[0],
);

/** A node that a budget keeps for good, one that is right already, where a Build has ended; a Build that fits no node. */
const rack = small()
  .replace(
    'timeline:',
    '  - {name: kept, pool: build, pods: [{name: c-0, ownedBy: StatefulSet, pdb: c, evictable: false}]}\n  - {name: fine, pool: build, httpTokens: required, hopLimit: 1, builds: [{name: b-done, runsFor: 10m, startsAt: -570s}]}\ntimeline:',
  )
  .replace('timeline:', 'timeline:\n  - {at: 55s, build: {name: b-waits, runsFor: 5m, cpu: 8}}');

async function explained(text: string, at = '60s'): Promise<{ explanation: Explanation; writes: unknown[] }> {
  const { rack: name, world } = await playToMoment({ scenario: scenarioFile(text), at });
  const before = world.audit.length;
  const { ports } = world.account;
  const explanation = await explainPlan({
    rack: name,
    ports,
    reads: world.planReads,
    days: 14,
    forecast: RUNS,
  });
  return { explanation, writes: world.audit.slice(before).filter(({ write }) => write) };
}

describe('a plan with a forecast', () => {
  it('says how long it takes, what is modified live and which Builds are at risk, and writes nothing', async () => {
    const { explanation, writes } = await explained(rack);
    expect(writes).toEqual([]);
    const { forecast } = explanation;
    if (forecast === undefined || 'missing' in forecast) throw new Error('there is no forecast');
    expect(forecast).toMatchObject({
      ...RUNS,
      outcomes: { Succeeded: 1 },
      duration: { from: 'start' },
      // An empty node goes, whatever can be launched.
      modifiedLive: { certain: ['kept'], never: ['idle', 'fine'] },
      waits: [{ build: 'builds/b-waits', p50: 600, p90: 600 }],
    });
    expect(forecast.buildsAtRisk.map(({ build }) => build)).toEqual(['builds/b-1', 'builds/b-waits']);
    const { p10, p50, p90 } = forecast.duration.toEnd;
    expect([p10, p50, p90]).toEqual([p10, p50, p90].toSorted((one, other) => Number(one) - Number(other)));
    const text = terminalText(planDocument(explanation));
    expect(text).toMatch(/^What is likely, by 6 runs on the simulator$/m);
    expect(text).toMatch(/^it has ended +\S+ +\S+ +\S+ to \S+$/m);
    expect(text).toContain('- modified live, certainly: kept\n');
    expect(text).toMatch(/^- a Build runs for \S+ \(P50\) to \S+ \(P90\), log-logistic; /m);
    expect(published.safeParse(JSON.parse(JSON.stringify(explanation))).error).toBeUndefined();
  });

  it('counts from now where a rollout is under way, and names what takes its place', async () => {
    const { explanation, writes } = await explained(rack, '10m');
    expect(writes).toEqual([]);
    expect(explanation.forecast).toMatchObject({
      duration: { from: 'now' },
      modifiedLive: { certain: ['kept'] },
    });
    expect(terminalText(planDocument(explanation))).toMatch(/^- execution demo-\d+, which runs: another /m);
  });

  it('is corrected by Builds that have ended', async () => {
    const { explanation } = await explained(rack);
    expect(explanation.forecast).toMatchObject({ prior: { numbers: { seenBuilds: 1 } } });
    expect(terminalText(planDocument(explanation))).toContain(
      '- corrected by 1 finished Build of the cluster',
    );
  });

  it('is none where it would be a guess, and says what it takes', async () => {
    const { explanation } = await explained(
      `${rack}faults: [{api: 'kubernetes:list Pod', error: Forbidden}]\n`,
    );
    expect(explanation.forecast).toEqual({
      missing: expect.stringMatching(/^the Pods of the cluster cannot be read: Forbidden: .*list/) as string,
    });
    expect(terminalText(planDocument(explanation))).toMatch(
      /^There is no forecast: the Pods of the cluster /m,
    );
    expect(published.safeParse(JSON.parse(JSON.stringify(explanation))).error).toBeUndefined();
  });

  it('says what it goes without where that is only a part', async () => {
    const forbidden = "faults: [{api: 'kubernetes:list PodDisruptionBudget', error: Forbidden}]\n";
    const { explanation } = await explained(`${rack}${forbidden}`);
    expect(explanation.forecast).toMatchObject({
      couldNotExpress: expect.arrayContaining([
        'PodDisruptionBudgets, which may not be listed: every pod is taken to be evictable',
      ]) as string[],
    });
  });
});

describe('the command', () => {
  it('prints the same forecast for the same seed, as data and by the published schema', () => {
    const file = scenarioFile(rack);
    const args = ['plan', '--scenario', file, '--at', '60s', '--json', '--forecast', '4', '--seed', '9'];
    const [one, other] = [command(args), command(args)];
    expect({ status: one.status, stderr: one.stderr }).toEqual({ status: 2, stderr: '' });
    expect(one.stdout).toBe(other.stdout);
    expect(published.safeParse(JSON.parse(one.stdout)).error).toBeUndefined();
    expect(JSON.parse(one.stdout)).toMatchObject({ forecast: { runs: 4, seed: 9 } });
  });

  it('prints no forecast where none is asked for, by the same schema', () => {
    const { stdout } = command([
      'plan',
      '--scenario',
      'docs/examples/explained.yaml',
      '--at',
      '80s',
      '--json',
    ]);
    const plan: unknown = JSON.parse(stdout);
    expect(plan).not.toHaveProperty('forecast');
    expect(published.safeParse(plan).error).toBeUndefined();
    expect(published.safeParse({ ...(plan as object), forecasts: [] }).success).toBe(false);
  });

  it.each([
    [['--forecast', '1'], '--forecast "1" is not accepted; accepted: a whole number from 2 to 1000\n'],
    [['--forecast', '3', '--seed', 'x'], '--seed "x" is not accepted; accepted: a whole number\n'],
  ])('refuses %j', (args, stderr) => {
    expect(command(['plan', '--scenario', 'docs/examples/explained.yaml', ...args])).toMatchObject({
      status: 1,
      stdout: '',
      stderr,
    });
  });
});
