import { describe, expect, it } from 'vitest';
import type { BuildSpec } from '../../../simulator/cluster/types.ts';
import { bench, hour, minute, second, type Bench } from './fakes.ts';

function builds(): Bench {
  const one = bench();
  one.cluster.addPool('build', { class: 'build', consolidateAfterMs: null });
  return one;
}

describe('a Build', () => {
  it.each<[NonNullable<BuildSpec['usesImds']>, 'optional' | 'required', number, string]>([
    ['none', 'required', 1, 'finished'],
    ['v1', 'optional', 1, 'finished'],
    ['v1', 'required', 3, 'brokenByImds'],
    ['v2-pod', 'required', 2, 'finished'],
    ['v2-pod', 'required', 1, 'brokenByImds'],
    ['v2-nested', 'required', 3, 'finished'],
    ['v2-nested', 'optional', 2, 'brokenByImds'],
  ])('that uses IMDS %s with %s/%i is %s', (usesImds, httpTokens, hopLimit, outcome) => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build', httpTokens, hopLimit });
    one.cluster.addBuild({ name: 'web', node, runsForMs: minute, usesImds });
    one.clock.advance(hour);
    expect(one.cluster.builds()[0]?.outcome).toBe(outcome);
    expect(one.cluster.busy()).toBe(false);
  });

  it('breaks where the endpoint is disabled', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build', httpEndpoint: 'disabled' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: minute, usesImds: 'v1' });
    one.clock.advance(hour);
    expect(one.cluster.builds()[0]).toMatchObject({
      outcome: 'brokenByImds',
      why: 'the IMDS endpoint is disabled',
    });
  });

  it('breaks by what is in force when it asks, not before', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    const id = one.instance(node)?.instanceId ?? '';
    one.cluster.addBuild({
      name: 'early',
      node,
      runsForMs: 20 * minute,
      usesImds: 'v1',
      usesImdsAtMs: minute,
    });
    one.cluster.addBuild({
      name: 'late',
      node,
      runsForMs: 20 * minute,
      usesImds: 'v1',
      usesImdsAtMs: 5 * minute,
    });
    one.cluster.addBuild({
      name: 'past',
      node,
      runsForMs: hour,
      startedAgoMs: 30 * minute,
      usesImds: 'v1',
      usesImdsAtMs: minute,
    });
    one.clock.advance(2 * minute);
    one.machines.modify(id, { httpTokens: 'required' });
    one.clock.advance(hour);
    expect(one.cluster.builds()).toMatchObject([
      { name: 'early', outcome: 'finished', changedUnder: true },
      { name: 'late', outcome: 'brokenByImds', changedUnder: true },
      { name: 'past', outcome: 'finished', changedUnder: true },
    ]);
  });

  it('is not changed under where its node was changed before or another was', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    const other = one.cluster.addNode({ pool: 'build' });
    one.machines.modify(one.instance(node)?.instanceId ?? '', { httpTokens: 'required' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: minute });
    one.machines.modify(one.instance(other)?.instanceId ?? '', { httpTokens: 'required' });
    one.clock.advance(hour);
    expect(one.cluster.builds()[0]).toMatchObject({ outcome: 'finished', changedUnder: false });
  });

  it('that began before the start ends when its length is over', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 9 * minute, startedAgoMs: 5 * minute });
    one.clock.advance(4 * minute - second);
    expect(one.cluster.builds()[0]?.outcome).toBe('running');
    one.clock.advance(2 * second);
    expect(one.cluster.builds()[0]).toMatchObject({ outcome: 'finished', waitedSeconds: 0, node });
  });
});

describe('quiet', () => {
  it('is not broken by Events that repeat about a blocked node', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addPod({ name: 'cache-0', node, ownedBy: 'StatefulSet', evictable: false });
    await one.cluster.port.patch('EC2NodeClass', 'build', {
      spec: { metadataOptions: { httpTokens: 'required' } },
    });
    one.clock.advance(10 * minute);
    const changedAt = one.cluster.changedAt();
    let told = 0;
    one.cluster.onChange(() => {
      told += 1;
    });
    one.clock.advance(2 * hour);
    expect(one.cluster.changedAt()).toEqual(changedAt);
    expect(told).toBe(0);
    const [event] = one.cluster.objects('Event').filter(({ reason }) => reason === 'DisruptionBlocked');
    expect(one.clock.now().getTime() - Date.parse(event?.lastTimestamp ?? '')).toBeLessThan(3 * minute);
  });

  it('keeps an Event that repeats to one every two minutes, whatever else changes', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const times = new Set<string>();
    for (let waited = 0; waited < 60; waited += 1) {
      one.clock.advance(10 * second);
      await one.cluster.port.patch('Node', node, { metadata: { annotations: { beat: `${waited}` } } });
      const blocked = one.cluster
        .objects('Event')
        .filter(({ involvedObject }) => involvedObject.name === node);
      for (const { reason, lastTimestamp } of blocked)
        if (reason === 'DisruptionBlocked') times.add(lastTimestamp ?? '');
    }
    expect(times.size).toBeGreaterThanOrEqual(4);
    expect(times.size).toBeLessThanOrEqual(5);
  });

  it('is repeatable: the same seed gives the same run', async () => {
    const play = async (seed: number): Promise<unknown> => {
      const one = bench({ seed });
      one.cluster.addPool('build', { class: 'build', consolidateAfterMs: 10 * minute });
      for (let number = 0; number < 5; number += 1) one.cluster.addNode({ pool: 'build' });
      for (const name of ['a', 'b', 'c']) one.cluster.addBuild({ name, runsForMs: 30 * minute });
      one.clock.advance(minute);
      await one.cluster.port.patch('EC2NodeClass', 'build', {
        spec: { metadataOptions: { httpTokens: 'required' } },
      });
      one.clock.advance(3 * hour);
      return [one.cluster.builds(), one.cluster.objects('Node'), one.cluster.objects('Event')];
    };
    expect(await play(7)).toEqual(await play(7));
    expect(await play(7)).not.toEqual(await play(8));
  });
});

describe('cost', () => {
  it('of eight hours with twelve nodes is small, and of half an hour with two thousand', async () => {
    for (const [count, length, limit] of [
      [12, 8 * hour, 1_500],
      [2_000, 30 * minute, 10_000],
    ] as const) {
      const one = bench();
      one.cluster.addPool('build', { class: 'build', consolidateAfterMs: null });
      for (let number = 0; number < count; number += 1) {
        const node = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
        one.cluster.addBuild({ name: `b-${number}`, node, runsForMs: 4 * hour });
      }
      await one.cluster.port.patch('EC2NodeClass', 'build', {
        spec: { metadataOptions: { httpTokens: 'required' } },
      });
      const began = process.cpuUsage();
      one.clock.advance(length);
      const used = process.cpuUsage(began);
      expect((used.user + used.system) / 1_000).toBeLessThan(limit);
    }
  }, 60_000);
});
