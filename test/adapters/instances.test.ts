import {
  DescribeInstancesCommand,
  EC2Client,
  GetInstanceMetadataDefaultsCommand,
  ModifyInstanceMetadataOptionsCommand,
  type Instance,
  type InstanceMetadataDefaultsResponse,
} from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createInstances } from '../../adapters/instances.ts';
import type { AccountMetadataDefaults } from '../../rollout/ec2.ts';

const client = new EC2Client({ region: 'eu-west-1' });
const ec2 = mockClient(client);
afterEach(() => ec2.reset());
const instances = createInstances(client);

const MetadataOptions: Instance['MetadataOptions'] = {
  State: 'applied',
  HttpTokens: 'optional',
  HttpPutResponseHopLimit: 3,
  HttpEndpoint: 'enabled',
  HttpProtocolIpv6: 'disabled',
  InstanceMetadataTags: 'disabled',
};
const running = (InstanceId: string, more: Instance = {}): Instance => ({
  InstanceId,
  State: { Name: 'running' },
  LaunchTime: new Date('2026-03-02T09:00:00Z'),
  MetadataOptions,
  Tags: [{ Key: 'Name', Value: 'build-1' }],
  ...more,
});
const query = { cluster: 'demo', nodeClass: 'build', instanceIds: [] };

describe('finding instances', () => {
  it('asks by tags, then by those ids that the tags did not give, never by ids that may be gone', async () => {
    ec2
      .on(DescribeInstancesCommand)
      .resolvesOnce({ Reservations: [{ Instances: [running('i-1')] }], NextToken: 'more' })
      .resolvesOnce({ Reservations: [{ Instances: [running('i-2')] }] })
      .resolvesOnce({ Reservations: [{ Instances: [running('i-3')] }] });
    const found = await instances.find({ ...query, instanceIds: ['i-2', 'i-3', 'i-gone', 'i-3'] });
    expect(found.map(({ instanceId }) => instanceId)).toEqual(['i-1', 'i-2', 'i-3']);
    const alive = {
      Name: 'instance-state-name',
      Values: ['pending', 'running', 'stopping', 'stopped', 'shutting-down'],
    };
    expect(ec2).toHaveReceivedNthCommandWith(DescribeInstancesCommand, 2, {
      Filters: [
        { Name: 'tag:eks:eks-cluster-name', Values: ['demo'] },
        { Name: 'tag:karpenter.k8s.aws/ec2nodeclass', Values: ['build'] },
        alive,
      ],
      IncludeManagedResources: true,
      MaxResults: 1000,
      NextToken: 'more',
    });
    expect(ec2).toHaveReceivedNthCommandWith(DescribeInstancesCommand, 3, {
      Filters: [{ Name: 'instance-id', Values: ['i-3', 'i-gone'] }, alive],
    });
  });

  it('asks for many ids in parts', async () => {
    ec2.on(DescribeInstancesCommand).resolves({ Reservations: [] });
    await instances.find({ ...query, instanceIds: Array.from({ length: 401 }, (_, n) => `i-${String(n)}`) });
    expect(ec2).toHaveReceivedCommandTimes(DescribeInstancesCommand, 4);
  });

  it("passes on EC2's words", async () => {
    ec2.on(DescribeInstancesCommand).resolves({ Reservations: [{ Instances: [running('i-1')] }] });
    expect(await instances.find(query)).toEqual([
      {
        instanceId: 'i-1',
        state: 'running',
        launchTime: '2026-03-02T09:00:00.000Z',
        metadataOptions: {
          state: 'applied',
          httpTokens: 'optional',
          httpPutResponseHopLimit: 3,
          httpEndpoint: 'enabled',
          httpProtocolIpv6: 'disabled',
          instanceMetadataTags: 'disabled',
        },
        tags: { Name: 'build-1' },
      },
    ]);
  });

  it.each<[string, Instance['MetadataOptions']]>([
    ['absent', undefined],
    ['without tokens', { ...MetadataOptions, HttpTokens: undefined }],
    ['without a hop limit', { ...MetadataOptions, HttpPutResponseHopLimit: undefined }],
    ['of a state that nobody knows', { ...MetadataOptions, State: 'settling' as 'applied' }],
    ['of tokens that nobody knows', { ...MetadataOptions, HttpTokens: 'sometimes' as 'optional' }],
  ])('defaults nothing: options that are %s are unknown', async (_what, options) => {
    ec2
      .on(DescribeInstancesCommand)
      .resolves({ Reservations: [{ Instances: [running('i-1', { MetadataOptions: options })] }] });
    const [found] = await instances.find(query);
    expect(found).not.toHaveProperty('metadataOptions');
  });

  it('leaves out what is terminated, should EC2 show it all the same', async () => {
    const gone = running('i-1', { State: { Name: 'terminated' } });
    ec2.on(DescribeInstancesCommand).resolves({ Reservations: [{ Instances: [gone] }] });
    expect(await instances.find(query)).toEqual([]);
  });
});

describe('modifying an instance', () => {
  it('sends all options', async () => {
    await instances.modifyMetadataOptions('i-1', {
      httpTokens: 'required',
      httpPutResponseHopLimit: 1,
      httpEndpoint: 'disabled',
      httpProtocolIpv6: 'disabled',
      instanceMetadataTags: 'enabled',
    });
    expect(ec2).toHaveReceivedCommandExactlyOnceWith(ModifyInstanceMetadataOptionsCommand, {
      InstanceId: 'i-1',
      HttpTokens: 'required',
      HttpPutResponseHopLimit: 1,
      HttpEndpoint: 'disabled',
      HttpProtocolIpv6: 'disabled',
      InstanceMetadataTags: 'enabled',
    });
  });

  it.each([
    ['InvalidInstanceID.NotFound', 'NotFoundError'],
    ['IncorrectInstanceState', 'NotFoundError'],
    ['UnsupportedOperation', 'InvalidError'],
    ['RequestLimitExceeded', 'TransientError'],
    ['UnauthorizedOperation', 'ForbiddenError'],
  ])('makes of %s a %s that names the instance', async (code, name) => {
    ec2
      .on(ModifyInstanceMetadataOptionsCommand)
      .rejects(Object.assign(new Error('words'), { name: code, $metadata: {} }));
    await expect(
      instances.modifyMetadataOptions('i-1', {
        httpTokens: 'required',
        httpPutResponseHopLimit: 1,
        httpEndpoint: 'enabled',
      }),
    ).rejects.toThrow(expect.objectContaining({ name, message: expect.stringContaining('i-1') as string }));
  });
});

describe("the account's defaults", () => {
  it.each<[InstanceMetadataDefaultsResponse | undefined, AccountMetadataDefaults]>([
    [undefined, { httpTokensEnforced: false }],
    [{}, { httpTokensEnforced: false }],
    [
      { HttpTokensEnforced: 'disabled', ManagedBy: 'account' },
      { httpTokensEnforced: false, managedBy: 'account' },
    ],
    [
      { HttpTokensEnforced: 'enabled', ManagedBy: 'declarative-policy' },
      { httpTokensEnforced: true, managedBy: 'declarative-policy' },
    ],
  ])('of %j are %j', async (AccountLevel, expected) => {
    ec2.on(GetInstanceMetadataDefaultsCommand).resolves({ AccountLevel });
    expect(await instances.accountDefaults()).toEqual(expected);
  });
});
