/** What the tests of disruption share. */
import type { PoolSpec } from '../../../simulator/cluster/types.ts';
import { isTrue } from '../../../simulator/cluster/conditions.ts';
import { bench, minute, type Bench } from './fakes.ts';

export const tighten = { spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } } };
export const doNotDisrupt = 'karpenter.sh/do-not-disrupt';

export function builds(pool: Partial<PoolSpec> = {}, options: Parameters<typeof bench>[0] = {}): Bench {
  const one = bench(options);
  one.cluster.addPool('build', {
    class: 'build',
    consolidateAfterMs: null,
    budgets: [{ nodes: '100%' }],
    ...pool,
  });
  return one;
}

export function nodes({ cluster }: Bench): string[] {
  return cluster
    .objects('Node')
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'build')
    .map(({ metadata }) => metadata.name);
}

/** Nodes that use the budget: those whose instance is already being terminated do not. */
export function going({ cluster }: Bench): number {
  const leaving = cluster
    .objects('NodeClaim')
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return leaving.filter((claim) => !isTrue(claim, 'InstanceTerminating')).length;
}

export function said({ cluster }: Bench, about: string, reason: string): string[] {
  return cluster
    .objects('Event')
    .filter((event) => event.involvedObject.name === about && event.reason === reason)
    .map(({ message }) => message);
}

export async function drift(one: Bench, wait = 6 * minute): Promise<void> {
  await one.cluster.port.patch('EC2NodeClass', 'build', tighten);
  one.clock.advance(wait);
}
