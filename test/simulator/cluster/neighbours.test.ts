/** What people and accidents do beside a rollout: other classes, repairs, clocks. */
import { describe, expect, it } from 'vitest';
import { isTrue } from '../../../simulator/cluster/conditions.ts';
import { bench, hour, minute, second } from './fakes.ts';
import { builds, doNotDisrupt, nodes } from './helpers.ts';

const claims = ({ cluster }: ReturnType<typeof bench>) =>
  cluster
    .objects('NodeClaim')
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'build');

describe('a pool that comes to refer to another class', () => {
  it('makes its nodes drift, as NodePoolDrifted', () => {
    const one = builds({ budgets: [{ nodes: '0' }] });
    one.cluster.addNode({ pool: 'build' });
    one.cluster.editPool('build', 'workload');
    one.clock.advance(6 * minute);
    const [claim] = claims(one);
    expect(claim?.status?.conditions?.find(({ type }) => type === 'Drifted')?.reason).toBe('NodePoolDrifted');
  });
});

describe('a class', () => {
  it('that is deleted waits for its NodeClaims, and launches nothing meanwhile', () => {
    const one = builds();
    one.cluster.addNode({ pool: 'build' });
    one.cluster.removeClass('build');
    one.clock.advance(minute);
    expect(one.cluster.object('EC2NodeClass', 'build')?.metadata.deletionTimestamp).toBeDefined();
    const pool = one.cluster.object('NodePool', 'build');
    expect(pool && isTrue(pool, 'Ready')).toBe(false);
    expect(() => {
      one.cluster.makeClass('build', {});
    }).toThrow('finalizer');
  });

  it('that is made again has another UID, and becomes Ready by itself', () => {
    const one = builds();
    const before = one.cluster.object('EC2NodeClass', 'build')?.metadata.uid;
    one.cluster.removeClass('build');
    one.cluster.makeClass('build', { httpTokens: 'optional' });
    one.clock.advance(minute);
    const after = one.cluster.object('EC2NodeClass', 'build');
    expect(after?.metadata.uid).not.toBe(before);
    expect(after && isTrue(after, 'Ready')).toBe(true);
  });
});

describe('node repair', () => {
  const broken = (nodeRepair: boolean, more = 0) => {
    const one = builds({}, { karpenter: { nodeRepair } });
    const names = Array.from({ length: 5 }, () => one.cluster.addNode({ pool: 'build', doNotDisrupt: true }));
    for (const name of names.slice(0, 1 + more)) one.cluster.nodeNotReady(name);
    one.clock.advance(29 * minute);
    expect(nodes(one)).toHaveLength(5);
    one.clock.advance(hour);
    return nodes(one).length;
  };

  it('takes a node that is not Ready for 30 minutes, whatever holds it', () => {
    expect(broken(true)).toBe(4);
  });

  it('takes none where more than a fifth of the pool is like that, and none without its feature gate', () => {
    expect(broken(true, 1)).toBe(5);
    expect(broken(false)).toBe(5);
  });
});

describe('a clock that is ahead', () => {
  it('dates what the API server dates, and leaves alone what others wrote', async () => {
    const [one, other] = [bench(), bench({ clockAheadMs: 40 * second })];
    const read = async ({ cluster }: typeof one) => {
      await cluster.port.patch('EC2NodeClass', 'build', {
        metadata: { annotations: { [doNotDisrupt]: '2026-03-02T09:00:00Z' } },
      });
      const nodeClass = await cluster.port.get('EC2NodeClass', 'build');
      const [ready] = nodeClass?.status?.conditions ?? [];
      return [
        nodeClass?.metadata.creationTimestamp,
        ready?.lastTransitionTime,
        nodeClass?.metadata.annotations?.[doNotDisrupt],
      ];
    };
    const ahead = (await read(other)).map((at) => Date.parse(at ?? ''));
    const [created = 0, turned = 0, written = 0] = (await read(one)).map((at) => Date.parse(at ?? ''));
    expect(ahead).toEqual([created + 40 * second, turned + 40 * second, written]);
  });
});
