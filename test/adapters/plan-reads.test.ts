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

it('asks beside rejected calls whether the instance was measured, by periods of 5 minutes from that of the moment', async () => {
  const at = (minutes: number): Date => new Date(minutes * 60_000);
  const asked: { StartTime?: Date; EndTime?: Date; MetricDataQueries?: MetricDataQuery[] }[] = [];
  const has: Record<string, [Date, number][]> = {
    'i-quiet CPUUtilization': [
      [at(10), 30],
      [at(5), 20],
    ],
    'i-both CPUUtilization': [[at(5), 7]],
    'i-both MetadataNoTokenRejected': [
      [at(5), 1],
      [at(10), 2],
    ],
  };
  mockClient(CloudWatchClient)
    .on(GetMetricDataCommand)
    .callsFake((input: (typeof asked)[number]) => {
      asked.push(input);
      const results = (input.MetricDataQueries ?? []).map(({ Id, MetricStat }) => {
        const { MetricName = '', Dimensions = [] } = MetricStat?.Metric ?? {};
        const points = has[`${Dimensions[0]?.Value ?? ''} ${MetricName}`] ?? [];
        return { Id, Timestamps: points.map(([time]) => time), Values: points.map(([, value]) => value) };
      });
      return { MetricDataResults: results };
    });
  const metrics = createMetadataMetrics(new CloudWatchClient(region));
  const day = 24 * 60;
  const found = await metrics.rejections({
    instanceIds: ['i-quiet', 'i-both', 'i-none'],
    since: at(7),
    until: at(2 * day),
  });
  expect(asked.map(({ StartTime, EndTime }) => [StartTime, EndTime])).toEqual([[at(5), at(2 * day)]]);
  // Of days too: a period that is not whole is none.
  expect(new Set(asked[0]?.MetricDataQueries?.map(({ MetricStat }) => MetricStat?.Period))).toEqual(
    new Set([300]),
  );
  expect(Object.fromEntries(found)).toEqual({
    'i-quiet': { count: 0, measured: [at(5), at(10)] },
    'i-both': { count: 3, measured: [at(5), at(10)] },
  });
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
