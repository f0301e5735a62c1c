import { describe, expect, it } from 'vitest';
import { isTrue } from '../../../simulator/cluster/conditions.ts';
import { hour, minute, second } from './fakes.ts';
import { builds, doNotDisrupt, drift, going, nodes, said, tighten } from './helpers.ts';

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
