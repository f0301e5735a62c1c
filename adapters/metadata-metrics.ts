/** CloudWatch: what EC2 counts of the access to IMDS. */
import { CloudWatchClient, paginateGetMetricData, type MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import type { MetadataMetrics } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling } from './aws-errors.ts';

/** The most queries that one call takes (Amazon CloudWatch API Reference, GetMetricData). */
const QUERIES = 500;
/** EC2 keeps 5-minute data for 63 days; a day is a multiple of that, so nothing is lost by asking for days. */
const DAY_SECONDS = 86_400;

export const cloudWatchMetrics = (connection?: AwsConnection): MetadataMetrics =>
  createMetadataMetrics(new CloudWatchClient(awsClient(connection)));

export function createMetadataMetrics(client: CloudWatchClient): MetadataMetrics {
  return {
    sums: ({ metric, instanceIds, since, until }) =>
      calling('cloudwatch:GetMetricData', metric, async () => {
        const sums = new Map<string, number>();
        for (let at = 0; at < instanceIds.length; at += QUERIES) {
          const ids = instanceIds.slice(at, at + QUERIES);
          const pages = paginateGetMetricData(
            { client },
            { StartTime: since, EndTime: until, MetricDataQueries: ids.map((id, n) => query(metric, id, n)) },
          );
          for await (const { MetricDataResults: results = [] } of pages) {
            for (const { Id, Values = [] } of results) {
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

const query = (metric: string, instanceId: string, place: number): MetricDataQuery => ({
  // Has to begin with a lower-case letter.
  Id: `i${String(place)}`,
  MetricStat: {
    Metric: {
      Namespace: 'AWS/EC2',
      MetricName: metric,
      Dimensions: [{ Name: 'InstanceId', Value: instanceId }],
    },
    Period: DAY_SECONDS,
    Stat: 'Sum',
  },
});
