/** Where moto is known to differ from AWS (docs/fidelity.md): once it does not any more, the suites can ask for it. */
import { EC2Client, ModifyInstanceMetadataOptionsCommand } from '@aws-sdk/client-ec2';
import { describe, expect, inject, it } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { motoInstances, motoRecords } from './moto-subjects.ts';

const options = {
  httpTokens: 'optional',
  httpPutResponseHopLimit: 3,
  httpEndpoint: 'enabled',
  httpProtocolIpv6: 'disabled',
  instanceMetadataTags: 'disabled',
} as const;

describe('moto, other than AWS,', () => {
  it('takes values of any size for standard parameters', async () => {
    await using subject = await motoRecords();
    await subject.port.write('demo', { ...emptyRecord, classUid: 'x'.repeat(5000) });
  });

  it('forgets options that are left out, which the adapter then takes for unknown', async () => {
    await using subject = await motoInstances();
    const { port, cluster } = subject;
    const tags = { 'eks:eks-cluster-name': cluster, 'karpenter.k8s.aws/ec2nodeclass': 'build' };
    const InstanceId = await subject.launch(tags, options);
    await new EC2Client({ ...awsClient(), endpoint: inject('moto') }).send(
      new ModifyInstanceMetadataOptionsCommand({ InstanceId, HttpTokens: 'required' }),
    );
    const [instance] = await port.find({ cluster, nodeClass: 'build', instanceIds: [] });
    expect(instance).toMatchObject({ instanceId: InstanceId, state: 'running' });
    expect(instance).not.toHaveProperty('metadataOptions');
  });

  it('knows no defaults of the account', async () => {
    await using subject = await motoInstances();
    await expect(subject.port.accountDefaults()).rejects.toThrow(/GetInstanceMetadataDefaults/);
  });
});
