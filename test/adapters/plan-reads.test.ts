/** CloudWatch and EKS Pod Identity behind their ports: pages, batches, and who may not. */
import { CloudWatchClient, GetMetricDataCommand, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { EKSClient, ListPodIdentityAssociationsCommand } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { createMetadataMetrics } from '../../adapters/metadata-metrics.ts';
import { createPodIdentities } from '../../adapters/pod-identities.ts';

const region = { region: 'eu-west-1' };
const query = { metric: 'MetadataNoToken', since: new Date(0), until: new Date(1) } as const;

it('asks CloudWatch for at most 500 instances a call, all pages of each', async () => {
  const cloudWatch = mockClient(CloudWatchClient);
  const asked: MetricDataQuery[][] = [];
  cloudWatch
    .on(GetMetricDataCommand)
    .callsFake(
      ({
        MetricDataQueries = [],
        NextToken,
      }: {
        MetricDataQueries?: MetricDataQuery[];
        NextToken?: string;
      }) => {
        if (NextToken === undefined) asked.push(MetricDataQueries);
        // One value a page, and a last instance of which nothing was measured.
        const Values = NextToken === undefined ? [1] : [2];
        const results = MetricDataQueries.slice(0, -1).map(({ Id }) => ({ Id, Values }));
        return {
          MetricDataResults: [...results, { Id: MetricDataQueries.at(-1)?.Id, Values: [] }],
          ...(NextToken === undefined && { NextToken: 'more' }),
        };
      },
    );
  const instanceIds = Array.from({ length: 501 }, (_, n) => `i-${String(n)}`);
  const sums = await createMetadataMetrics(new CloudWatchClient(region)).sums({ ...query, instanceIds });
  expect(asked.map(({ length }) => length)).toEqual([500, 1]);
  expect(asked[0]?.[0]).toMatchObject({
    MetricStat: {
      Metric: { Namespace: 'AWS/EC2', MetricName: 'MetadataNoToken', Dimensions: [{ Value: 'i-0' }] },
      Stat: 'Sum',
    },
  });
  expect(sums.get('i-0')).toBe(3);
  expect(sums.has('i-499')).toBe(false);
  expect(sums.size).toBe(499);
});

it('lists all associations of a cluster', async () => {
  const eks = mockClient(EKSClient);
  const page = (serviceAccount: string, nextToken?: string) => ({
    associations: [{ namespace: 'tools', serviceAccount }],
    nextToken,
  });
  eks
    .on(ListPodIdentityAssociationsCommand, { clusterName: 'demo' })
    .resolvesOnce(page('a', 'more'))
    .resolves(page('b'));
  expect(await createPodIdentities(new EKSClient(region)).list('demo')).toEqual([
    { namespace: 'tools', serviceAccount: 'a' },
    { namespace: 'tools', serviceAccount: 'b' },
  ]);
});

it('says who may not', async () => {
  const denied = Object.assign(
    new Error(
      'User: arn:aws:sts::123456789012:assumed-role/people/me is not authorized to perform: cloudwatch:GetMetricData',
    ),
    { name: 'AccessDeniedException', $metadata: { httpStatusCode: 400 } },
  );
  mockClient(CloudWatchClient).on(GetMetricDataCommand).rejects(denied);
  await expect(
    createMetadataMetrics(new CloudWatchClient(region)).sums({ ...query, instanceIds: ['i-1'] }),
  ).rejects.toThrow(
    expect.objectContaining({
      name: 'ForbiddenError',
      message: expect.stringMatching(/^role people may not cloudwatch:GetMetricData/) as string,
    }),
  );
});
