/** What every Instances does, whoever runs the instances. */
import { describe, expect, it } from 'vitest';
import type { MetadataOptionsRequest } from '../../rollout/ec2.ts';
import type { Instances } from '../../rollout/ports.ts';

export interface InstancesSubject extends AsyncDisposable {
  port: Instances;
  /** A cluster's name that nobody else uses. */
  cluster: string;
  /** Launches an instance, running and applied, and returns its id. */
  launch(tags: Record<string, string>, options: MetadataOptionsRequest): Promise<string>;
  stop(instanceId: string): Promise<void>;
  /** Until it is terminated. */
  terminate(instanceId: string): Promise<void>;
  /** Until every change of options is in force. */
  settle(): Promise<void>;
}

const loose: MetadataOptionsRequest = {
  httpTokens: 'optional',
  httpPutResponseHopLimit: 3,
  httpEndpoint: 'enabled',
  httpProtocolIpv6: 'disabled',
  instanceMetadataTags: 'disabled',
};
const UNKNOWN = 'i-0123456789abcdef0';

export function describeInstances(name: string, make: () => Promise<InstancesSubject>): void {
  const tagsOf = (cluster: string, nodeClass = 'build') => ({
    'eks:eks-cluster-name': cluster,
    'karpenter.k8s.aws/ec2nodeclass': nodeClass,
  });

  describe(`Instances: ${name}`, () => {
    it('are found by cluster and class together', async () => {
      await using subject = await make();
      const { port, cluster } = subject;
      const id = await subject.launch({ ...tagsOf(cluster), Name: 'build-1' }, loose);
      await subject.launch(tagsOf(cluster, 'workload'), loose);
      await subject.launch(tagsOf(`${cluster}-2`), loose);
      expect(await port.find({ cluster, nodeClass: 'build', instanceIds: [] })).toEqual([
        {
          instanceId: id,
          state: 'running',
          launchTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
          metadataOptions: { ...loose, state: 'applied' },
          tags: { ...tagsOf(cluster), Name: 'build-1' },
        },
      ]);
    });

    it('are found by id as well, each once, and ids that are gone or never were harm nobody', async () => {
      await using subject = await make();
      const { port, cluster } = subject;
      const tagged = await subject.launch(tagsOf(cluster), loose);
      const named = await subject.launch({ Name: 'untagged' }, loose);
      const gone = await subject.launch({}, loose);
      await subject.terminate(gone);
      const found = await port.find({
        cluster,
        nodeClass: 'build',
        instanceIds: [UNKNOWN, named, gone, tagged, named],
      });
      expect(found.map(({ instanceId }) => instanceId)).toEqual([tagged, named]);
    });

    it('are left out when they are terminated, and not when they are stopped', async () => {
      await using subject = await make();
      const { port, cluster } = subject;
      const stopped = await subject.launch(tagsOf(cluster), loose);
      const gone = await subject.launch(tagsOf(cluster), loose);
      await subject.stop(stopped);
      await subject.terminate(gone);
      const found = await port.find({ cluster, nodeClass: 'build', instanceIds: [] });
      expect(found.map(({ instanceId, state }) => [instanceId, state])).toEqual([[stopped, 'stopped']]);
    });

    it.each<[string, Partial<MetadataOptionsRequest>]>([
      ['tokens', { httpTokens: 'required' }],
      ['the hop limit', { httpPutResponseHopLimit: 64 }],
      ['both', { httpTokens: 'required', httpPutResponseHopLimit: 1 }],
      ['the endpoint', { httpEndpoint: 'disabled' }],
    ])('take a change of %s, soon applied, and of nothing else', async (_what, change) => {
      await using subject = await make();
      const { port, cluster } = subject;
      const id = await subject.launch(tagsOf(cluster), loose);
      const other = await subject.launch(tagsOf(cluster), loose);
      await port.modifyMetadataOptions(id, { ...loose, ...change });
      const optionsOf = async () =>
        Object.fromEntries(
          (await port.find({ cluster, nodeClass: 'build', instanceIds: [] })).map(
            ({ instanceId, metadataOptions }) => [instanceId, metadataOptions],
          ),
        );
      expect((await optionsOf())[id]).toMatchObject(change);
      await subject.settle();
      expect(await optionsOf()).toEqual({
        [id]: { ...loose, ...change, state: 'applied' },
        [other]: { ...loose, state: 'applied' },
      });
      // Absolute values: once more changes nothing.
      await port.modifyMetadataOptions(id, { ...loose, ...change });
      await subject.settle();
      expect((await optionsOf())[id]).toEqual({ ...loose, ...change, state: 'applied' });
    });

    it('that never were cannot be modified', async () => {
      await using subject = await make();
      await expect(subject.port.modifyMetadataOptions(UNKNOWN, loose)).rejects.toThrow(
        expect.objectContaining({
          name: 'NotFoundError',
          message: expect.stringContaining(UNKNOWN) as string,
          cause: expect.objectContaining({ name: 'InvalidInstanceID.NotFound' }) as Error,
        }),
      );
    });
  });
}
