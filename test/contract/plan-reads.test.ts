/** What a plan reads besides, on the simulator; the metrics on moto too (test/aws). */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runScenario } from '../../simulator/run/run.ts';
import type { World } from '../../simulator/run/world.ts';
import { watchWorld } from '../../simulator/invariants/watch-world.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import { describeMetadataMetrics } from './metadata-metrics.ts';

const file = 'docs/examples/explained.yaml';

async function play(change: (text: string) => string, until = 1_000): Promise<World> {
  let world: World | undefined;
  await runScenario(loadScenario(change(readFileSync(file, 'utf8')), file), {
    until,
    invariants: (made) => watchWorld((world = made)),
  });
  if (world === undefined) throw new Error('nothing was played');
  return world;
}

describeMetadataMetrics('the simulator', async () => {
  // Long enough for a sample of CPUUtilization.
  const world = await play((text) => text.replaceAll('required', 'optional'), 120_000);
  const instanceOf = (node: string): string =>
    world.cluster.object('Node', node)?.spec.providerID?.split('/').at(-1) ?? '';
  const until = world.clock.now();
  return {
    port: world.account.ports.metrics,
    counted: { instanceId: instanceOf('build-a'), sum: 3 },
    silent: instanceOf('build-b'),
    quiet: instanceOf('build-b'),
    unmeasured: 'i-of-nobody',
    since: new Date(until.getTime() - 86_400_000),
    until,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
});

describe('PodIdentities: the simulator', () => {
  it('lists who has an association, of this cluster alone', async () => {
    const world = await play((text) => text.replace(/role: '[^']+'/, 'podIdentity: true'));
    const { podIdentities } = world.planReads;
    expect(await podIdentities.list('demo-cluster')).toEqual([
      { namespace: 'kube-system', serviceAccount: 'ebs-csi-node' },
    ]);
    await expect(podIdentities.list('other')).rejects.toThrow(
      expect.objectContaining({ name: 'NotFoundError' }),
    );
  });
});
