import { describe, expect, it } from 'vitest';
import type { NodeClaim } from '../../../rollout/kubernetes.ts';
import { conditionOf, isTrue } from '../../../simulator/cluster/conditions.ts';
import { isDrifted } from '../../../simulator/cluster/drift.ts';
import { bench, hour, minute, second, type Bench } from './fakes.ts';

const tighten = { spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } } };
const loosen = { spec: { metadataOptions: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } } };
const hash = 'karpenter.k8s.aws/ec2nodeclass-hash';

/** Two held build nodes: protected, so that drift can be watched without disruption. */
function held(options: Parameters<typeof bench>[0] = {}): Bench {
  const one = bench(options);
  one.cluster.addPool('build', { class: 'build', consolidateAfterMs: null });
  one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
  one.cluster.addNode({ pool: 'build', doNotDisrupt: true });
  return one;
}

function drifted({ cluster }: Bench): NodeClaim[] {
  return cluster.objects('NodeClaim').filter((claim) => isTrue(claim, 'Drifted'));
}

function ready({ cluster }: Bench): unknown {
  const nodeClass = cluster.object('EC2NodeClass', 'build');
  return nodeClass && conditionOf(nodeClass, 'Ready');
}

describe('the class', () => {
  it('is Ready at its new generation only after a while', async () => {
    const one = held();
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(1 * second);
    expect(ready(one)).toMatchObject({ status: 'True', observedGeneration: 1 });
    one.clock.advance(2 * second);
    expect(ready(one)).toMatchObject({ status: 'True', observedGeneration: 2 });
  });

  it('gets its hash before or after it is Ready', async () => {
    const orders = new Set<string>();
    for (let seed = 1; seed <= 20; seed += 1) {
      const one = held({ seed });
      const before = one.cluster.object('EC2NodeClass', 'build')?.metadata.annotations?.[hash];
      await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
      for (let waited = 0; waited < 100; waited += 1) {
        one.clock.advance(50);
        const nodeClass = one.cluster.object('EC2NodeClass', 'build');
        const hashed = nodeClass?.metadata.annotations?.[hash] !== before;
        const isReady = nodeClass !== undefined && conditionOf(nodeClass, 'Ready')?.observedGeneration === 2;
        if (hashed !== isReady) orders.add(hashed ? 'hash first' : 'Ready first');
      }
    }
    expect([...orders].sort()).toEqual(['Ready first', 'hash first']);
  });

  it('that a policy refuses is not Ready, its pool neither, until the old options are back', async () => {
    const one = held({ karpenter: { classReady: 'never' } });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(5 * second);
    expect(ready(one)).toMatchObject({ status: 'False', observedGeneration: 2 });
    const nodeClass = one.cluster.object('EC2NodeClass', 'build');
    expect(nodeClass && conditionOf(nodeClass, 'ValidationSucceeded')).toMatchObject({
      status: 'False',
      reason: 'RunInstancesAuthCheckFailed',
    });
    const pool = one.cluster.object('NodePool', 'build');
    expect(pool && conditionOf(pool, 'NodeClassReady')?.status).toBe('False');
    await one.cluster.port.patch('EC2NodeClass', 'build', loosen);
    one.clock.advance(5 * second);
    expect(ready(one)).toMatchObject({ status: 'True', observedGeneration: 3 });
  });

  it('stays at its old generation while Karpenter is stopped, and catches up after', async () => {
    const one = held();
    one.cluster.stopKarpenter(10 * minute);
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(9 * minute);
    expect(ready(one)).toMatchObject({ observedGeneration: 1 });
    expect(drifted(one)).toEqual([]);
    one.clock.advance(7 * minute);
    expect(ready(one)).toMatchObject({ observedGeneration: 2 });
    expect(drifted(one)).toHaveLength(2);
  });
});

describe('drift', () => {
  it('needs all four annotations and equal versions', () => {
    const one = held();
    const [claim] = one.cluster.objects('NodeClaim');
    const nodeClass = one.cluster.object('EC2NodeClass', 'build');
    if (claim === undefined || nodeClass === undefined) throw new Error('the bench has both');
    const version = `${hash}-version`;
    const annotated = <T extends NodeClaim | typeof nodeClass>(
      object: T,
      annotations: Record<string, string>,
    ): T => ({
      ...object,
      metadata: { ...object.metadata, annotations },
    });
    const judge = (ofClass: Record<string, string>, ofClaim: Record<string, string>): boolean =>
      isDrifted(annotated(nodeClass, ofClass), annotated(claim, ofClaim));
    expect(judge({ [hash]: '1', [version]: 'v5' }, { [hash]: '2', [version]: 'v5' })).toBe(true);
    expect(judge({ [hash]: '1', [version]: 'v6' }, { [hash]: '2', [version]: 'v5' })).toBe(false);
    expect(judge({ [hash]: '1', [version]: 'v5' }, { [version]: 'v5' })).toBe(false);
    expect(judge({ [hash]: '1' }, { [hash]: '2', [version]: 'v5' })).toBe(false);
  });

  it('shows within seconds or at the requeue, and clears when the hash is equal again', async () => {
    const one = held();
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    expect(drifted(one)).toEqual([]);
    one.clock.advance(6 * minute);
    expect(drifted(one)).toHaveLength(2);
    const first = drifted(one)[0];
    expect(first && conditionOf(first, 'Drifted')).toMatchObject({ reason: 'NodeClassDrift' });
    await one.cluster.port.patch('EC2NodeClass', 'build', loosen);
    one.clock.advance(6 * minute);
    expect(drifted(one)).toEqual([]);
  });

  it('shows at once where a pod comes or goes, however late it would be', async () => {
    // Many nodes: for some of them the first look at the class's change comes minutes late.
    const one = bench({ seed: 1 });
    one.cluster.addPool('build', { class: 'build', consolidateAfterMs: null });
    const names = Array.from({ length: 200 }, (_, index) => `n-${String(index)}`);
    for (const name of names) one.cluster.addNode({ name, pool: 'build', doNotDisrupt: true });
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(6 * second);
    const seen = new Set(drifted(one).map(({ status }) => status?.nodeName));
    const [late = ''] = names.filter((name) => !seen.has(name));
    expect(late).not.toBe('');
    one.cluster.addBuild({ name: 'b', runsForMs: 1 * hour, node: late });
    one.clock.advance(1 * second);
    expect(drifted(one).map(({ status }) => status?.nodeName)).toContain(late);
  });

  it('does not see what was changed live', () => {
    const one = held();
    const instance = one.instance('build-1');
    one.machines.modify(instance?.instanceId ?? '', { httpTokens: 'required' });
    one.clock.advance(6 * minute);
    expect(drifted(one)).toEqual([]);
  });

  it('is swallowed by an upgrade of the hash version, except where it was seen before', async () => {
    const one = held();
    one.cluster.stopKarpenter(1 * minute);
    one.cluster.upgradeHashVersion();
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(10 * minute);
    expect(drifted(one)).toEqual([]);
    const stamped = one.cluster.objects('NodeClaim').map(({ metadata }) => metadata.annotations?.[hash]);
    const ofClass = one.cluster.object('EC2NodeClass', 'build')?.metadata.annotations?.[hash];
    expect(stamped).toEqual([ofClass, ofClass]);

    const other = held();
    await other.cluster.port.patch('EC2NodeClass', 'build', tighten);
    other.clock.advance(6 * minute);
    other.cluster.upgradeHashVersion();
    other.clock.advance(6 * minute);
    expect(drifted(other)).toHaveLength(2);
  });
});
