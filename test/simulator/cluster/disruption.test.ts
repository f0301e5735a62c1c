import { describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../../simulator/cluster/types.ts';
import { isTrue } from '../../../simulator/cluster/conditions.ts';
import { bench, hour, minute, second, type Bench } from './fakes.ts';

const tighten = { spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } } };
const doNotDisrupt = 'karpenter.sh/do-not-disrupt';

function builds(pool: Partial<PoolSpec> = {}, options: Parameters<typeof bench>[0] = {}): Bench {
  const one = bench(options);
  one.cluster.addPool('build', {
    class: 'build',
    consolidateAfterMs: null,
    budgets: [{ nodes: '100%' }],
    ...pool,
  });
  return one;
}

function nodes({ cluster }: Bench): string[] {
  return cluster
    .objects('Node')
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'build')
    .map(({ metadata }) => metadata.name);
}

/** Nodes that use the budget: those whose instance is already being terminated do not. */
function going({ cluster }: Bench): number {
  const leaving = cluster
    .objects('NodeClaim')
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return leaving.filter((claim) => !isTrue(claim, 'InstanceTerminating')).length;
}

function said({ cluster }: Bench, about: string, reason: string): string[] {
  return cluster
    .objects('Event')
    .filter((event) => event.involvedObject.name === about && event.reason === reason)
    .map(({ message }) => message);
}

async function drift(one: Bench, wait = 6 * minute): Promise<void> {
  await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
  one.clock.advance(wait);
}

describe('drift', () => {
  it('deletes an idle node without a replacement, its instance by drift', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    const id = one.instance(node)?.instanceId ?? '';
    await drift(one);
    expect(nodes(one)).toEqual([]);
    expect(one.endedBy(id)).toBe('drift');
    expect(
      one.cluster
        .objects('NodeClaim')
        .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'build'),
    ).toEqual([]);
  });

  it('launches a replacement with the new options, waits for it, and evicts the running Build', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    let replacedAt = 0;
    let evictedAt = 0;
    for (let waited = 1; waited <= 600; waited += 1) {
      one.clock.advance(second);
      const initialized = one.cluster.objects('NodeClaim').filter((claim) => isTrue(claim, 'Initialized'));
      if (replacedAt === 0 && initialized.some(({ status }) => status?.nodeName?.startsWith('ip-') === true))
        replacedAt = waited;
      if (evictedAt === 0 && one.cluster.builds()[0]?.outcome === 'evicted') evictedAt = waited;
    }
    expect(replacedAt).toBeGreaterThan(80);
    expect(evictedAt).toBeGreaterThanOrEqual(replacedAt);
    expect(one.cluster.builds()).toMatchObject([{ outcome: 'evicted', lostTo: 'drift', node }]);
    const [successor] = nodes(one);
    expect(nodes(one)).toHaveLength(1);
    expect(one.instance(successor ?? '')?.metadataOptions).toMatchObject({
      httpTokens: 'required',
      httpPutResponseHopLimit: 1,
    });
    expect(one.instance(successor ?? '')?.tags['karpenter.sh/nodeclaim']).toBeDefined();
    expect(said(one, 'web', 'Evicted')).toEqual(['Evicted pod: Drifted']);
    expect(said(one, node, 'DisruptionTerminating')).toEqual(['Disrupting Node: Drifted']);
  });

  it('takes a node without a replacement where its pods fit another', async () => {
    const one = builds();
    const held = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    await drift(one);
    expect(nodes(one)).toEqual([held]);
    expect(one.machines.instances.size).toBe(1);
  });

  it('takes empty nodes first, then the others', async () => {
    const one = builds({ budgets: [{ nodes: '1' }] });
    const busy = one.cluster.addNode({ pool: 'build' });
    const idle = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node: busy, runsForMs: 3 * hour });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    const order: string[] = [];
    for (let waited = 0; waited < 900; waited += 1) {
      one.clock.advance(second);
      for (const name of [busy, idle])
        if (!nodes(one).includes(name) && !order.includes(name)) order.push(name);
    }
    expect(order).toEqual([idle, busy]);
  });

  it.each([
    ['10%', 12, 2],
    ['1', 12, 1],
    ['0', 12, 0],
    ['100%', 3, 3],
  ])('with a budget of %s takes of %i nodes %i at a time', async (budget, count, atOnce) => {
    const one = builds({ budgets: [{ nodes: budget }] });
    for (let number = 0; number < count; number += 1) one.cluster.addNode({ pool: 'build' });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    let most = 0;
    for (let waited = 0; waited < 600; waited += 1) {
      one.clock.advance(second);
      most = Math.max(most, going(one));
    }
    expect(most).toBe(atOnce);
    expect(said(one, 'build', 'DisruptionBlocked')).toEqual(
      atOnce === 0 ? ['No allowed disruptions for disruption reason Drifted due to blocking budget'] : [],
    );
  });

  it('has its budget used up by nodes that are not ready, and ignores budgets for other reasons', async () => {
    const one = builds({
      budgets: [
        { nodes: '1', reasons: ['Drifted'] },
        { nodes: '0', reasons: ['Empty'] },
      ],
    });
    const node = one.cluster.addNode({ pool: 'build' });
    const sick = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    one.cluster.nodeNotReady(sick);
    await drift(one);
    expect(nodes(one)).toContain(node);
    one.cluster.nodeReady(sick);
    one.clock.advance(2 * minute);
    expect(nodes(one)).not.toContain(node);
  });

  it('is blocked by exactly "true" on the node, terminationGracePeriod or not', async () => {
    const one = builds({ terminationGracePeriodMs: minute });
    const held = one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
    const other = one.cluster.addNode({ pool: 'build' });
    await one.cluster.port.patch('Node', other, { metadata: { annotations: { [doNotDisrupt]: 'True' } } });
    await drift(one);
    expect(nodes(one)).toEqual([held]);
    expect(said(one, held, 'DisruptionBlocked')).toEqual([
      'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    ]);
  });

  it('is not held back by a cordon', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    await one.cluster.port.patch('Node', node, { spec: { unschedulable: true } });
    await drift(one);
    expect(nodes(one)).toEqual([]);
  });

  it('waits for a pod that protects itself or has a full budget, unless there is a terminationGracePeriod', async () => {
    for (const [pod, message] of [
      [{ doNotDisrupt: true }, 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=builds/cache-0)'],
      [{ pdb: 'cache', evictable: false }, 'Pdb prevents pod evictions (PodDisruptionBudget=[builds/cache])'],
    ] as const) {
      const one = builds();
      const node = one.cluster.addNode({ pool: 'build' });
      one.cluster.addPod({ name: 'cache-0', node, ownedBy: 'StatefulSet', ...pod });
      await drift(one, 30 * minute);
      expect(nodes(one)).toEqual([node]);
      expect(said(one, node, 'DisruptionBlocked')).toEqual([message]);

      const graceful = builds({ terminationGracePeriodMs: 5 * minute });
      const there = graceful.cluster.addNode({ pool: 'build' });
      graceful.cluster.addPod({ name: 'cache-0', node: there, ownedBy: 'StatefulSet', ...pod });
      await drift(graceful, 30 * minute);
      expect(nodes(graceful)).not.toContain(there);
    }
  });

  it('is not stopped by an annotation once its command has started', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    for (let waited = 0; waited < 400; waited += 1) {
      one.clock.advance(second);
      const taints = one.cluster.object('Node', node)?.spec.taints ?? [];
      if (taints.some(({ key }) => key === 'karpenter.sh/disrupted')) break;
    }
    await one.cluster.port.patch('Node', node, { metadata: { annotations: { [doNotDisrupt]: 'true' } } });
    one.clock.advance(10 * minute);
    expect(one.cluster.builds()[0]?.outcome).toBe('evicted');
  });

  it('gives a node back when its replacement fails', async () => {
    const one = builds({}, { karpenter: { capacity: 'none' } });
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: 3 * hour });
    await drift(one, 20 * minute);
    expect(nodes(one)).toEqual([node]);
    expect(one.cluster.builds()[0]?.outcome).toBe('running');
    const failures = one.cluster
      .objects('Event')
      .filter(({ reason }) => reason === 'InsufficientCapacityError');
    expect(failures.length).toBeGreaterThan(0);
    await one.cluster.port.patch('Node', node, { metadata: { annotations: { [doNotDisrupt]: 'true' } } });
    one.clock.advance(minute);
    expect(one.cluster.object('Node', node)?.spec.taints?.map(({ key }) => key)).toEqual(['dedicated']);
  });

  it('launches nothing while the class is not Ready, yet deletes empty nodes', async () => {
    const one = builds({}, { karpenter: { classReady: 'never' } });
    const idle = one.cluster.addNode({ pool: 'build' });
    const busy = one.cluster.addNode({ pool: 'build', cpu: 1 });
    one.cluster.addBuild({ name: 'web', node: busy, runsForMs: 3 * hour });
    await drift(one, 20 * minute);
    expect(nodes(one)).toEqual([busy]);
    expect(nodes(one)).not.toContain(idle);
    expect(said(one, busy, 'DisruptionBlocked')[0]).toMatch(/^Not all pods would schedule, builds\/web => /);
  });

  it('stands still while Karpenter is stopped', async () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(2 * second);
    one.cluster.stopKarpenter(hour);
    one.clock.advance(50 * minute);
    expect(nodes(one)).toEqual([node]);
    one.clock.advance(20 * minute);
    expect(nodes(one)).toEqual([]);
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
