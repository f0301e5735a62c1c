import { describe, expect, it } from 'vitest';
import { hour, minute, second } from './fakes.ts';
import { builds, doNotDisrupt, drift, nodes, said, tighten } from './helpers.ts';

describe('the scheduling simulation', () => {
  it('fails as a whole where no NodePool at all is Ready, so that even empty nodes stay', async () => {
    const one = builds({}, { karpenter: { classReady: 'never' } });
    one.cluster.removePool('workload');
    const idle = one.cluster.addNode({ pool: 'build' });
    await drift(one, 20 * minute);
    expect(nodes(one)).toEqual([idle]);
  });

  it('lets a replacement overshoot a limit that is just used up, and no more than that', async () => {
    const one = builds({ limits: { cpu: 8 } });
    for (const name of ['web', 'api']) {
      const node = one.cluster.addNode({ pool: 'build', cpu: 4 });
      for (const part of ['1', '2', '3', '4'])
        one.cluster.addBuild({ name: `${name}-${part}`, node, runsForMs: 3 * hour });
    }
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    let most = 0;
    for (let waited = 0; waited < 1_200; waited += 1) {
      one.clock.advance(second);
      most = Math.max(most, nodes(one).length);
    }
    expect(most).toBe(3);
    expect(one.cluster.builds().map(({ outcome }) => outcome)).toEqual(Array(8).fill('evicted'));
  });

  it('does not count on a node that is still coming up', async () => {
    const one = builds();
    const busy = [
      one.cluster.addNode({ pool: 'build', cpu: 1 }),
      one.cluster.addNode({ pool: 'build', cpu: 1 }),
    ];
    for (const node of busy) one.cluster.addBuild({ name: `on-${node}`, node, runsForMs: 3 * hour });
    await drift(one);
    const messages = busy.flatMap((node) => said(one, node, 'DisruptionBlocked'));
    expect(messages.join()).toMatch(/would schedule against uninitialized nodeclaim\/build-/);
    expect(one.machines.instances.size).toBe(1);
  });
});

describe('a drain', () => {
  it('waits for a budget, and says so', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addPod({ name: 'cache-0', node, ownedBy: 'StatefulSet', evictable: false });
    one.cluster.removeNode(node);
    one.clock.advance(2 * hour);
    // No room is made for a pod that nothing can evict.
    expect(nodes(one)).toEqual([node]);
    expect(said(one, node, 'FailedDraining')).toContain(
      'Failed to drain node, evicting pod violates a PDB (Pod=builds/cache-0)',
    );
    expect(one.cluster.busy()).toBe(true);
  });
});

describe('emptiness', () => {
  it('takes a node a while after its last pod, and never one that is protected or where it is switched off', () => {
    const one = builds({ consolidateAfterMs: 10 * minute });
    const node = one.cluster.addNode({ pool: 'build' });
    const held = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 20 * minute });
    const id = one.instance(node)?.instanceId ?? '';
    one.clock.advance(29 * minute);
    expect(nodes(one)).toEqual([node, held]);
    one.clock.advance(3 * minute);
    expect(nodes(one)).toEqual([held]);
    expect(one.endedBy(id)).toBe('emptiness');
    one.clock.advance(5 * hour);
    expect(nodes(one)).toEqual([held]);
    expect(one.cluster.objects('Node')).toHaveLength(1);

    const never = builds({ consolidateAfterMs: null });
    never.cluster.addNode({ pool: 'build' });
    never.clock.advance(5 * hour);
    expect(nodes(never)).toHaveLength(1);
  });

  it('looks again 15 s after it chose, and lets go what was protected meanwhile', async () => {
    const one = builds({ consolidateAfterMs: 10 * minute });
    const node = one.cluster.addNode({ pool: 'build' });
    // Consolidatable after ten minutes and chosen within a pass, but not validated yet.
    one.clock.advance(10 * minute + 12 * second);
    await one.cluster.port.patch('Node', node, { metadata: { annotations: { [doNotDisrupt]: 'true' } } });
    one.clock.advance(hour);
    expect(nodes(one)).toEqual([node]);
  });
});

describe('forceful ends', () => {
  it('come by expiry whatever the annotation says', () => {
    const one = builds({ expireAfterMs: 25 * hour });
    const node = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const id = one.instance(node)?.instanceId ?? '';
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    one.clock.advance(2 * hour);
    expect(one.endedBy(id)).toBe('expiry');
    expect(one.cluster.builds()).toMatchObject([{ outcome: 'evicted', lostTo: 'expiry' }]);
  });

  it('come by interruption and by hand', () => {
    const one = builds();
    const spot = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const removed = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const ids = [spot, removed].map((node) => one.instance(node)?.instanceId ?? '');
    one.cluster.addBuild({ name: 'web', node: spot, runsForMs: 3 * hour });
    one.cluster.addBuild({ name: 'api', node: removed, runsForMs: 3 * hour });
    one.cluster.interrupt(spot);
    one.cluster.removeNode(removed);
    one.clock.advance(5 * minute);
    expect(ids.map((id) => one.endedBy(id))).toEqual(['interruption', 'hand']);
    expect(one.cluster.builds().map(({ lostTo }) => lostTo)).toEqual(['interruption', 'hand']);
    expect(
      one.cluster.objects('NodeClaim').filter((claim) => claim.metadata.deletionTimestamp !== undefined),
    ).toEqual([]);
  });

  it('leave an instance 30 s after its last pod', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    const id = one.instance(node)?.instanceId ?? '';
    one.cluster.removeNode(node);
    let empty = 0;
    for (let waited = 1; waited < 120 && one.machines.get(id)?.state === 'running'; waited += 1) {
      one.clock.advance(second);
      if (empty === 0 && one.cluster.object('Pod', 'web') === undefined) empty = waited;
      if (one.machines.get(id)?.state === 'shutting-down') expect(waited - empty).toBeGreaterThanOrEqual(20);
    }
    expect(one.endedBy(id)).toBe('hand');
  });
});

describe('a static pool', () => {
  it('replaces drifted nodes only with room below its limit of nodes', async () => {
    for (const [limit, expected] of [
      [2, true],
      [3, false],
    ] as const) {
      const one = builds({ replicas: 2, limits: { nodes: limit } });
      const names = [one.cluster.addNode({ pool: 'build' }), one.cluster.addNode({ pool: 'build' })];
      await drift(one, 30 * minute);
      expect(nodes(one).includes(names[0] ?? '')).toBe(expected);
      expect(nodes(one)).toHaveLength(2);
    }
  });
});
