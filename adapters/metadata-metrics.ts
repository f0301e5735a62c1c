/** CloudWatch: what EC2 counts of the access to IMDS. */
import {
  CloudWatchClient,
  paginateGetMetricData,
  type MetricDataQuery,
  type MetricDataResult,
} from '@aws-sdk/client-cloudwatch';
import { TransientError } from '../rollout/errors.ts';
import type { MetadataMetrics, Rejections } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling } from './aws-errors.ts';

/** The most queries that one call takes (Amazon CloudWatch API Reference, GetMetricData). */
const QUERIES = 500;
/** Basic monitoring dates a datapoint by the beginning of its 5 minutes, and CloudWatch keeps these for 63 days. */
const DATAPOINT_SECONDS = 300;
const DAY_SECONDS = 86_400;

export const cloudWatchMetrics = (connection?: AwsConnection): MetadataMetrics =>
  createMetadataMetrics(new CloudWatchClient(awsClient(connection)));

export function createMetadataMetrics(client: CloudWatchClient): MetadataMetrics {
  return {
    sums: ({ metric, instanceIds, since, until }) =>
      calling('cloudwatch:GetMetricData', metric, async () => {
        // Of less than a day what was counted before on the same day must not count; of more, days are fewer values.
        const isShort = until.getTime() - since.getTime() < DAY_SECONDS * 1000;
        const period = isShort ? DATAPOINT_SECONDS : DAY_SECONDS;
        const asked = instanceIds.map((instanceId) => ({ metric, instanceId, period }));
        const sums = new Map<string, number>();
        await read(client, asked, { since, until }, ({ instanceId }, { Values = [] }) => {
          // No value at all is not zero: nothing was measured.
          if (Values.length > 0) sums.set(instanceId, (sums.get(instanceId) ?? 0) + total(Values));
        });
        return sums;
      }),
    rejections: ({ instanceIds, since, until }) =>
      calling('cloudwatch:GetMetricData', REJECTED, async () => {
        const asked = instanceIds.flatMap((instanceId) =>
          [REJECTED, 'CPUUtilization'].map((metric) => ({ metric, instanceId, period: DATAPOINT_SECONDS })),
        );
        const found = new Map<string, { count: number; measured: Set<number> }>();
        await read(client, asked, { since, until }, ({ metric, instanceId }, result) => {
          const { Values = [], Timestamps = [] } = result;
          if (Timestamps.length === 0) return;
          const { count, measured } = found.get(instanceId) ?? { count: 0, measured: new Set() };
          for (const at of Timestamps) measured.add(at.getTime());
          found.set(instanceId, { count: count + (metric === REJECTED ? total(Values) : 0), measured });
        });
        return new Map(
          [...found].map(([id, { count, measured }]): [string, Rejections] => [
            id,
            { count, measured: [...measured].sort((a, b) => a - b).map((at) => new Date(at)) },
          ]),
        );
      }),
  };
}

const REJECTED = 'MetadataNoTokenRejected';

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

interface Asked {
  metric: string;
  instanceId: string;
  /** Seconds. */
  period: number;
}

/** Every page of every result, each with what was asked. */
async function read(
  client: CloudWatchClient,
  asked: readonly Asked[],
  { since, until }: { since: Date; until: Date },
  found: (asked: Asked, result: MetricDataResult) => void,
): Promise<void> {
  const from = Math.floor(since.getTime() / (DATAPOINT_SECONDS * 1000)) * DATAPOINT_SECONDS * 1000;
  for (let at = 0; at < asked.length; at += QUERIES) {
    const some = asked.slice(at, at + QUERIES);
    const pages = paginateGetMetricData(
      { client },
      { StartTime: new Date(from), EndTime: until, MetricDataQueries: some.map(query) },
    );
    for await (const { MetricDataResults: results = [] } of pages) {
      for (const result of results) {
        const of = some[Number(result.Id?.slice(1))];
        if (result.StatusCode === 'InternalError' || result.StatusCode === 'Forbidden')
          throw new TransientError(
            `CloudWatch answered ${result.StatusCode} for ${String(of?.metric)}: ask again later`,
          );
        if (of !== undefined) found(of, result);
      }
    }
  }
}

const query = ({ metric, instanceId, period }: Asked, place: number): MetricDataQuery => ({
  // Has to begin with a lower-case letter.
  Id: `i${String(place)}`,
  MetricStat: {
    Metric: {
      Namespace: 'AWS/EC2',
      MetricName: metric,
      Dimensions: [{ Name: 'InstanceId', Value: instanceId }],
    },
    Period: period,
    Stat: 'Sum',
  },
});
