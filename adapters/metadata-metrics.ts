/** CloudWatch: what EC2 counts of the access to IMDS. */
import { CloudWatchClient, paginateGetMetricData, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import { TransientError } from '../rollout/errors.ts';
import type { MetadataMetrics } from '../rollout/ports.ts';
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
        const sums = new Map<string, number>();
        // Of less than a day what was counted before on the same day must not count; of more, days are fewer values.
        const isShort = until.getTime() - since.getTime() < DAY_SECONDS * 1000;
        const period = isShort ? DATAPOINT_SECONDS : DAY_SECONDS;
        const from = new Date(
          Math.floor(since.getTime() / (DATAPOINT_SECONDS * 1000)) * DATAPOINT_SECONDS * 1000,
        );
        for (let at = 0; at < instanceIds.length; at += QUERIES) {
          const ids = instanceIds.slice(at, at + QUERIES);
          const pages = paginateGetMetricData(
            { client },
            {
              StartTime: from,
              EndTime: until,
              MetricDataQueries: ids.map((id, n) => query(metric, id, n, period)),
            },
          );
          for await (const { MetricDataResults: results = [] } of pages) {
            for (const { Id, StatusCode, Values = [] } of results) {
              if (StatusCode === 'InternalError' || StatusCode === 'Forbidden')
                throw new TransientError(`CloudWatch answered ${StatusCode} for ${metric}: ask again later`);
              const id = ids[Number(Id?.slice(1))];
              // No value at all is not zero: nothing was measured.
              if (id === undefined || Values.length === 0) continue;
              sums.set(
                id,
                Values.reduce((sum, value) => sum + value, sums.get(id) ?? 0),
              );
            }
          }
        }
        return sums;
      }),
  };
}

const query = (metric: string, instanceId: string, place: number, period: number): MetricDataQuery => ({
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
