/** What the reports of played scenarios say, where that is more than the result of the run. */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { reportSchema, type Report } from '../rollout/report.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import { playTraced } from './trace.ts';

vi.setConfig({ testTimeout: 60_000 });

const read = (file: string): Scenario =>
  loadScenario(readFileSync(new URL(`scenarios/${file}`, import.meta.url), 'utf8'), file);

/** The reports of a run, by start. */
async function reportsOf(scenario: Scenario): Promise<Report[]> {
  const { world } = await playTraced(scenario);
  const { reports } = world.account.ports;
  const keys = (await reports.list(`${scenario.rack}/`)).filter((key) => /\/\d\d\/[^/]+\.json$/.test(key));
  const bodies = await Promise.all(keys.map((key) => reports.get(key)));
  return bodies.map((body) => reportSchema.parse(JSON.parse(body ?? '')));
}

test('interruption, expiry, repair and hands are told apart from what the rollout set off', async () => {
  const [report] = await reportsOf(read('gone-otherwise.yaml'));
  expect(Object.fromEntries(report?.instances.map(({ node, how }) => [node, how]) ?? [])).toEqual({
    expired: 'expired',
    interrupted: 'interrupted',
    broken: 'repaired',
    deleted: 'deleted',
    idle: 'replaced',
  });
  const why = Object.fromEntries(report?.builds.map(({ name, why: said }) => [name, said]) ?? []);
  expect(why['builds/b-expired']).toContain('expired: it reached its expireAfter at 2026-03-02T10:00:00');
  expect(why['builds/b-interrupted']).toContain('SpotInterrupted');
  expect(why['builds/b-broken']).toContain('not Ready since');
  expect(why['builds/b-deleted']).toContain('Karpenter named no disruption of it');
});

test.each([50, -50])('a clock that is %i s off keeps nothing out of the evidence', async (seconds) => {
  const scenario = { ...read('clock-skew.yaml'), clocks: { cluster: seconds * 1000 } };
  const [report] = await reportsOf(scenario);
  expect(report?.outcome).toBe('Succeeded');
  expect(report?.builds.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['builds/b-full', 'builds/b-launching']),
  );
  expect(report?.instances.filter(({ how }) => how === 'deleted')).toEqual([]);
});

test('a drift that an upgrade of Karpenter swallowed is named as the reason of a live modification', async () => {
  const [report] = await reportsOf(read('karpenter-away.yaml'));
  expect(report?.stragglers.map(({ node }) => node)).toEqual(['idle', 'busy']);
  for (const { why } of report?.stragglers ?? [])
    expect(why).toContain('Karpenter sees no drift: it stamped the NodeClaim');
});

test('build groups that keep the rack-wide options are named in the plan too', async () => {
  const [first, second] = await reportsOf(read('build-groups.yaml'));
  expect(first?.plan?.notices).toEqual([expect.stringContaining('app-build, 102')]);
  expect(second?.reason).not.toContain('app-build');
});

test('what was modified live is in the report although the function died before it could write so', async () => {
  const [report] = await reportsOf(read('died-while-modifying.yaml'));
  expect(report?.stragglers).toMatchObject([{ node: 'busy', builds: ['builds/b-web'] }]);
  expect(report?.stragglers[0]?.why).not.toContain('not known');
  expect(report?.builds).toMatchObject([{ name: 'builds/b-web', changedUnder: true }]);
  expect(report?.timeline.filter(({ what }) => what.includes('modified live'))).toHaveLength(1);
});
