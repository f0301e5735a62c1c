/** The hold protocol by hand: what it must be possible to do on this cluster, and what comes of not doing it. */
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../../simulator/cluster/conditions.ts';
import { bench, hour, minute, second, type Bench } from './fakes.ts';

const doNotDisrupt = 'karpenter.sh/do-not-disrupt';
const tighten = { spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } } };

function busyRack(seed: number): Bench {
  const one = bench({ seed });
  const { cluster, clock } = one;
  cluster.addPool('build', {
    class: 'build',
    limits: { cpu: 64 },
    budgets: [{ nodes: '50%' }],
    consolidateAfterMs: 5 * minute,
  });
  for (let number = 1; number <= 6; number += 1) {
    const node = cluster.addNode({ pool: 'build' });
    if (number > 2) cluster.addBuild({ name: `on-${number}`, node, runsForMs: number * 10 * minute });
  }
  for (let number = 1; number <= 6; number += 1) {
    clock.after(number * 25 * second, () => {
      cluster.addBuild({ name: `late-${number}`, runsForMs: 12 * minute });
    });
  }
  return one;
}

function lost({ cluster }: Bench): string[] {
  return cluster.builds().flatMap(({ name, outcome }) => (outcome === 'evicted' ? [name] : []));
}

function wrong({ cluster, machines }: Bench): string[] {
  return cluster.objects('Node').flatMap(({ metadata, spec }) => {
    if (metadata.labels?.['karpenter.sh/nodepool'] !== 'build') return [];
    const tokens = machines.get(spec.providerID?.split('/').at(-1) ?? '')?.metadataOptions?.httpTokens;
    return tokens === 'required' ? [] : [metadata.name];
  });
}

async function annotate({ cluster }: Bench, node: string, value: 'true' | null): Promise<void> {
  await cluster.port.patch('Node', node, { metadata: { annotations: { [doNotDisrupt]: value } } });
}

async function rollOut(one: Bench): Promise<void> {
  const { cluster, clock } = one;
  for (const node of wrong(one)) await annotate(one, node, 'true');
  for (const { metadata } of cluster.objects('NodeClaim')) {
    await cluster.port.patch('NodeClaim', metadata.name, {
      metadata: { annotations: { [doNotDisrupt]: 'true' } },
    });
  }
  await cluster.port.patch('EC2NodeClass', 'build', tighten);
  for (;;) {
    clock.advance(5 * second);
    for (const node of wrong(one)) await annotate(one, node, 'true');
    const nodeClass = cluster.object('EC2NodeClass', 'build');
    const observed = nodeClass && conditionOf(nodeClass, 'Ready')?.observedGeneration;
    if (observed === nodeClass?.metadata.generation) break;
  }
  const cordonedAt = new Map<string, number>();
  for (let look = 0; look < 400; look += 1) {
    for (const node of wrong(one)) {
      const since = cordonedAt.get(node);
      if (since === undefined) {
        await cluster.port.patch('Node', node, {
          metadata: { annotations: { [doNotDisrupt]: 'true' } },
          spec: { unschedulable: true },
        });
        cordonedAt.set(node, clock.now().getTime());
        continue;
      }
      const pods = await cluster.port.list('Pod');
      const idle = pods.every(({ spec }) => spec.nodeName !== node);
      if (idle && clock.now().getTime() - since >= 10 * second) await annotate(one, node, null);
    }
    clock.advance(20 * second);
  }
}

describe('a rack whose class changes', () => {
  it('loses no Build to the hold protocol, whatever the chances, and ends with new options', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const one = busyRack(seed);
      one.clock.advance(30 * second);
      await rollOut(one);
      expect(lost(one), `seed ${seed}`).toEqual([]);
      expect(wrong(one), `seed ${seed}`).toEqual([]);
    }
  }, 60_000);

  it('loses Builds without it', async () => {
    const one = busyRack(1);
    one.clock.advance(30 * second);
    await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
    one.clock.advance(3 * hour);
    expect(lost(one).length).toBeGreaterThan(2);
    expect(wrong(one)).toEqual([]);
  });
});
