/**
 * What every step of a rollout stands on, on the real neighbours. EC2 is apart (instances.ts): its client is the
 * largest by far and is bundled only where EC2 is called.
 */
import { EKSClient } from '@aws-sdk/client-eks';
import { S3Client } from '@aws-sdk/client-s3';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { Ports } from '../rollout/ports.ts';
import { createApprovals } from './approvals.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { systemClock } from './clock.ts';
import { createClusters } from './cluster/clusters.ts';
import { createParameters } from './parameters.ts';
import { createRecords } from './records.ts';
import { createReports } from './reports.ts';
import { stepFunctionsWorkflow } from './workflow.ts';

/** Named as in the environment of the functions. */
export interface RolloutSettings {
  PARAMETER_PREFIX: string;
  RECORD_PREFIX: string;
  STATE_MACHINE_ARN: string;
  REPORT_BUCKET: string;
}

export function rolloutPorts(
  settings: RolloutSettings,
  connection?: AwsConnection,
): Omit<Ports, 'instances' | 'notices' | 'identities' | 'waitTokens' | 'metrics'> {
  const client = awsClient(connection);
  const ssm = new SSMClient(client);
  return {
    clock: systemClock,
    parameters: createParameters(ssm, settings.PARAMETER_PREFIX),
    records: createRecords(ssm, settings.RECORD_PREFIX),
    approvals: createApprovals(ssm, settings.RECORD_PREFIX),
    clusters: createClusters(new EKSClient(client), systemClock),
    workflow: stepFunctionsWorkflow(settings.STATE_MACHINE_ARN, connection),
    reports: createReports(new S3Client(client), settings.REPORT_BUCKET),
  };
}
