import { describe, expect, it } from 'vitest';
import { isTrue } from '../../../simulator/cluster/conditions.ts';
import type { PoolSpec } from '../../../simulator/cluster/types.ts';
import { bench, hour, minute, second, type Bench } from './fakes.ts';

const tighten = { spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } } };
const doNotDisrupt = 'karpenter.sh/do-not-disrupt';

function builds(pool: Partial<PoolSpec> = {}, options: Parameters<typeof bench>[0] = {}): Bench {
  const one = bench(options);
  one.cluster.addPool('build', { class: 'build', consolidateAfterMs: null, ...pool });
  return one;
}

function claims({ cluster }: Bench): ReturnType<typeof cluster.objects<'NodeClaim'>> {
  return cluster.objects('NodeClaim');
}

describe('a pending Build', () => {
  it('is bound to a node with room', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', runsForMs: 10 * minute });
    one.clock.advance(10 * second);
    expect(one.cluster.builds()).toMatchObject([{ node, outcome: 'running' }]);
    one.clock.advance(10 * minute);
    expect(one.cluster.builds()[0]?.outcome).toBe('finished');
    expect(one.cluster.busy()).toBe(false);
    expect(one.machines.instances.size).toBe(1);
  });

  it('gets a node where none has room, and runs before ten minutes are over', () => {
    const one = builds();
    one.cluster.addNode({ pool: 'workload' });
    one.cluster.addBuild({ name: 'web', runsForMs: 10 * minute });
    one.clock.advance(30 * second);
    const inFlight = claims(one).find((claim) => !isTrue(claim, 'Launched'));
    expect(inFlight).toBeDefined();
    expect(one.machines.instances.size).toBe(2);
    expect(one.cluster.busy()).toBe(true);
    one.clock.advance(3 * minute);
    const [build] = one.cluster.builds();
    expect(build).toMatchObject({ outcome: 'running' });
    expect(build?.node).toMatch(/^ip-/);
    expect(build?.waitedSeconds).toBeGreaterThan(60);
    expect(claims(one)).toHaveLength(2);
  });

  it('shares one new node with others that fit there', () => {
    const one = builds();
    for (const name of ['a', 'b', 'c', 'd', 'e']) one.cluster.addBuild({ name, runsForMs: hour });
    one.clock.advance(5 * minute);
    expect(claims(one)).toHaveLength(2);
    expect(one.cluster.builds().map(({ outcome }) => outcome)).toEqual(Array(5).fill('running'));
  });

  it('waits, is told why, and is given up, where limits are used up or there is no capacity', () => {
    for (const one of [
      builds({ limits: { cpu: 4 } }),
      builds({}, { karpenter: { capacity: 'none' } }),
      builds({}, { karpenter: { capacity: { afterMs: hour } } }),
    ]) {
      const node = one.cluster.addNode({ pool: 'build' });
      for (const name of ['a', 'b', 'c', 'd']) one.cluster.addBuild({ name, node, runsForMs: hour });
      one.cluster.addBuild({ name: 'web', runsForMs: minute });
      one.clock.advance(11 * minute);
      const waiting = one.cluster.builds().find(({ name }) => name === 'web');
      expect(waiting).toMatchObject({ outcome: 'givenUp', node: null, waitedSeconds: 600 });
      expect(one.cluster.object('Pod', 'web')).toBeUndefined();
    }
    const full = builds({ limits: { cpu: 0 } });
    full.cluster.addBuild({ name: 'web', runsForMs: minute });
    full.clock.advance(minute);
    const messages = full.cluster.objects('Event').filter(({ source }) => source?.component === 'karpenter');
    expect(messages.map(({ message }) => message).join()).toContain(
      'all available instance types exceed limits for nodepool (NodePool=build)',
    );
  });

  it('does not go to a cordoned node, nor to the workload pool', async () => {
    const one = builds({}, { karpenter: { capacity: 'none' } });
    one.cluster.addNode({ pool: 'workload' });
    const node = one.cluster.addNode({ pool: 'build' });
    await one.cluster.port.patch('Node', node, { spec: { unschedulable: true } });
    one.clock.advance(2 * second);
    expect(one.cluster.object('Node', node)?.spec.taints?.map(({ key }) => key)).toContain(
      'node.kubernetes.io/unschedulable',
    );
    one.cluster.addBuild({ name: 'web', runsForMs: minute });
    one.clock.advance(minute);
    expect(one.cluster.builds()[0]?.node).toBeNull();
    await one.cluster.port.patch('Node', node, { spec: { unschedulable: null } });
    one.clock.advance(10 * second);
    expect(one.cluster.builds()[0]?.node).toBe(node);
  });

  it('does not go to a cordoned node even before that has its taint', async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const one = builds({}, { seed, karpenter: { capacity: 'none' } });
      const node = one.cluster.addNode({ pool: 'build' });
      one.clock.advance(second);
      await one.cluster.port.patch('Node', node, { spec: { unschedulable: true } });
      one.clock.advance(200);
      one.cluster.addBuild({ name: 'web', runsForMs: hour });
      one.clock.advance(10 * second);
      expect(one.cluster.builds()[0]?.node).toBeNull();
    }
  });

  it('lands on a node that was cordoned while its binding was in flight', async () => {
    const one = builds({}, { bindingLagMs: 5 * second });
    const node = one.cluster.addNode({ pool: 'build' });
    one.clock.advance(second);
    one.cluster.addBuild({ name: 'web', runsForMs: hour });
    one.clock.advance(2 * second);
    expect(one.cluster.builds()[0]?.node).toBeNull();
    await one.cluster.port.patch('Node', node, { spec: { unschedulable: true } });
    one.clock.advance(5 * second);
    expect(one.cluster.builds()[0]?.node).toBe(node);
  });
});

describe('a launch', () => {
  it('has the options of the class at that moment, and its tags', async () => {
    const one = builds();
    one.cluster.launchNode('build');
    one.clock.advance(5 * second);
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(minute);
    const [instance] = one.machines.all();
    expect(instance?.metadataOptions).toMatchObject({ httpTokens: 'optional', httpPutResponseHopLimit: 3 });
    expect(instance?.tags).toMatchObject({
      'kubernetes.io/cluster/demo': 'owned',
      'eks:eks-cluster-name': 'demo',
      'karpenter.sh/nodepool': 'build',
      'karpenter.k8s.aws/ec2nodeclass': 'build',
    });
  });

  it('is tagged with its NodeClaim only once it has registered', () => {
    const one = builds();
    const claim = one.cluster.launchNode('build') ?? '';
    one.clock.advance(20 * second);
    expect(one.machines.all()[0]?.tags['karpenter.sh/nodeclaim']).toBeUndefined();
    expect(one.cluster.object('NodeClaim', claim)?.status?.providerID).toBeUndefined();
    one.clock.advance(3 * minute);
    expect(one.machines.all()[0]?.tags['karpenter.sh/nodeclaim']).toBe(claim);
  });

  it('is refused until the class is Ready at its generation', async () => {
    const one = builds({}, { karpenter: { classReady: 20 * second } });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    const claim = one.cluster.launchNode('build') ?? '';
    one.clock.advance(5 * second);
    expect(one.cluster.object('NodeClaim', claim)).toBeUndefined();
    expect(one.machines.instances.size).toBe(0);
    one.clock.advance(30 * second);
    one.cluster.launchNode('build');
    one.clock.advance(5 * second);
    expect(one.machines.all()[0]?.metadataOptions).toMatchObject({ httpTokens: 'required' });
  });

  it('carries a do-not-disrupt of its NodeClaim to the Node, and only until then', async () => {
    const one = builds();
    const claim = one.cluster.launchNode('build') ?? '';
    await one.cluster.port.patch('NodeClaim', claim, {
      metadata: { annotations: { [doNotDisrupt]: 'true' } },
    });
    one.clock.advance(5 * minute);
    const node = one.cluster.object('NodeClaim', claim)?.status?.nodeName ?? '';
    expect(one.cluster.object('Node', node)?.metadata.annotations?.[doNotDisrupt]).toBe('true');
    await one.cluster.port.patch('NodeClaim', claim, {
      metadata: { annotations: { [doNotDisrupt]: 'later' } },
    });
    one.clock.advance(5 * minute);
    expect(one.cluster.object('Node', node)?.metadata.annotations?.[doNotDisrupt]).toBe('true');
  });

  it('that the account refuses is tried for five minutes, and named on the NodeClaim', () => {
    const one = builds();
    one.machines.refusal = Object.assign(new Error('tokens are enforced'), { name: 'UnsupportedOperation' });
    const claim = one.cluster.launchNode('build') ?? '';
    one.clock.advance(4 * minute);
    const launched = one.cluster
      .object('NodeClaim', claim)
      ?.status?.conditions?.find(({ type }) => type === 'Launched');
    expect(launched).toMatchObject({ status: 'Unknown', reason: 'LaunchFailed' });
    expect(launched?.message).toContain('UnsupportedOperation');
    one.clock.advance(2 * minute);
    expect(one.cluster.object('NodeClaim', claim)).toBeUndefined();
  });

  it('that never registers is given up after 15 minutes', () => {
    const one = builds({}, { karpenter: { registerMs: 2 * hour } });
    const claim = one.cluster.launchNode('build') ?? '';
    one.clock.advance(14 * minute);
    expect(one.cluster.object('NodeClaim', claim)).toBeDefined();
    one.clock.advance(3 * minute);
    expect(one.cluster.object('NodeClaim', claim)).toBeUndefined();
    expect(one.machines.instances.size).toBe(0);
  });

  it('that a stopped Karpenter forgot is made again, and the first instance collected', () => {
    const one = builds();
    const claim = one.cluster.launchNode('build') ?? '';
    one.clock.advance(20 * second);
    one.cluster.stopKarpenter(minute);
    one.clock.advance(20 * minute);
    expect(one.machines.instances.size).toBe(1);
    expect(one.cluster.object('NodeClaim', claim)?.status?.providerID).toContain(
      one.machines.all()[0]?.instanceId,
    );
  });
});

describe('parked pods', () => {
  it('of a StatefulSet are run again elsewhere after an eviction', async () => {
    const one = builds({ budgets: [{ nodes: '100%' }] });
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addPod({ name: 'cache-0', node, ownedBy: 'StatefulSet', pdb: 'cache' });
    const uid = one.cluster.object('Pod', 'cache-0')?.metadata.uid;
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(15 * minute);
    const again = one.cluster.object('Pod', 'cache-0');
    expect(again?.metadata.uid).not.toBe(uid);
    expect(again?.status?.phase).toBe('Running');
    expect(again?.spec.nodeName).not.toBe(node);
    expect(one.cluster.object('Node', node)).toBeUndefined();
  });

  it('of a DaemonSet hold no node, and go with it', async () => {
    const one = builds({ budgets: [{ nodes: '100%' }] });
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addPod({ name: 'agent', node, ownedBy: 'DaemonSet', hostNetwork: true });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(10 * minute);
    expect(one.cluster.object('Node', node)).toBeUndefined();
    expect(one.cluster.objects('Pod')).toEqual([]);
  });

  it('leave a node that is not ready after five minutes, Builds too', () => {
    const one = builds();
    const node = one.cluster.addNode({ pool: 'build' });
    one.cluster.addBuild({ name: 'web', node, runsForMs: hour });
    one.cluster.nodeNotReady(node);
    one.clock.advance(4 * minute);
    expect(one.cluster.builds()[0]?.outcome).toBe('running');
    one.clock.advance(2 * minute);
    expect(one.cluster.builds()).toMatchObject([{ outcome: 'evicted', lostTo: 'notReady' }]);
  });
});

describe('a NodePool', () => {
  it('counts its nodes, those on their way too', () => {
    const one = builds();
    one.cluster.addNode({ pool: 'build', cpu: 8 });
    one.cluster.launchNode('build');
    one.clock.advance(10 * second);
    expect(one.cluster.object('NodePool', 'build')?.status).toMatchObject({
      nodes: 2,
      resources: { cpu: '12', nodes: '2' },
    });
  });

  it('takes its nodes with it, and a class goes only after them', () => {
    const one = builds();
    one.cluster.addNode({ pool: 'build' });
    one.cluster.removeClass('build');
    expect(one.cluster.object('EC2NodeClass', 'build')?.metadata.deletionTimestamp).toBeDefined();
    one.cluster.removePool('build');
    one.clock.advance(5 * minute);
    expect(one.cluster.objects('Node')).toEqual([]);
    expect(one.cluster.object('EC2NodeClass', 'build')).toBeUndefined();
  });
});
