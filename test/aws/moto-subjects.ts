/** The real adapters on moto, and a person's hands beside them. */
import { randomUUID } from 'node:crypto';
import {
  EC2Client,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { CreateArchiveCommand, DescribeArchiveCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateStateMachineCommand, SFNClient, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { inject } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { calling } from '../../adapters/aws-errors.ts';
import { createApprovals } from '../../adapters/approvals.ts';
import { createInstances } from '../../adapters/instances.ts';
import { createNotices } from '../../adapters/notices.ts';
import { createParameters } from '../../adapters/parameters.ts';
import { createRecords } from '../../adapters/records.ts';
import { createReports } from '../../adapters/reports.ts';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';
import { createWorkflow } from '../../adapters/workflow.ts';
import type { ApprovalsSubject } from '../contract/approvals.ts';
import type { InstancesSubject } from '../contract/instances.ts';
import type { NoticesSubject } from '../contract/notices.ts';
import type { ParametersSubject } from '../contract/parameters.ts';
import type { RecordsSubject } from '../contract/records.ts';
import type { ReportsSubject } from '../contract/reports.ts';
import type { WaitTokensSubject } from '../contract/wait-tokens.ts';
import type { WorkflowSubject } from '../contract/workflow.ts';

const connection = () => ({ ...awsClient(), endpoint: inject('moto') });
const unique = (): string => randomUUID().slice(0, 8);
const nothingToClose = { [Symbol.asyncDispose]: () => Promise.resolve() };

export async function motoParameters(): Promise<ParametersSubject> {
  const ssm = new SSMClient(connection());
  const nameOf = (rack: string, key: string): string => `/racks/${rack}/${key}`;
  return {
    port: createParameters(ssm, '/racks/'),
    rack: `demo-${unique()}`,
    set: async (rack, key, value, type = 'String') => {
      const Name = nameOf(rack, key);
      await calling('ssm:PutParameter', Name, () =>
        ssm.send(new PutParameterCommand({ Name, Value: value, Type: type, Overwrite: true })),
      );
    },
    unset: async (rack, key) => {
      await ssm.send(new DeleteParameterCommand({ Name: nameOf(rack, key) }));
    },
    ...nothingToClose,
  };
}

export async function motoRecords(): Promise<RecordsSubject> {
  const ssm = new SSMClient(connection());
  const prefix = `/imds-rollout-${unique()}/racks/`;
  const put = async (Name: string, Value: string): Promise<void> => {
    await ssm.send(new PutParameterCommand({ Name, Value, Type: 'String', Overwrite: true }));
  };
  return {
    port: createRecords(ssm, prefix),
    rack: 'demo',
    register: (registration) =>
      put(`${prefix}${registration.rack}/registration`, JSON.stringify(registration)),
    overwrite: (rack, text) => put(`${prefix}${rack}/record`, text),
    ...nothingToClose,
  };
}

export async function motoApprovals(): Promise<ApprovalsSubject> {
  const port = createApprovals(new SSMClient(connection()), `/imds-rollout-${unique()}/racks/`);
  return { port, rack: 'demo', ...nothingToClose };
}

export async function motoWaitTokens(): Promise<WaitTokensSubject> {
  const root = `/imds-rollout-${unique()}`;
  const ssm = new SSMClient(connection());
  const port = createWaitTokens(ssm, `${root}/approval-tokens/`, `${root}/racks/`);
  return { port, rack: 'demo', ...nothingToClose };
}

export async function motoInstances(): Promise<InstancesSubject> {
  const ec2 = new EC2Client(connection());
  return {
    port: createInstances(ec2),
    cluster: `demo-${unique()}`,
    launch: async (tags, options) => {
      const { Instances = [] } = await ec2.send(
        new RunInstancesCommand({
          ImageId: 'ami-12c6146b',
          MinCount: 1,
          MaxCount: 1,
          MetadataOptions: {
            HttpTokens: options.httpTokens,
            HttpPutResponseHopLimit: options.httpPutResponseHopLimit,
            HttpEndpoint: options.httpEndpoint,
            HttpProtocolIpv6: options.httpProtocolIpv6,
            InstanceMetadataTags: options.instanceMetadataTags,
          },
          TagSpecifications:
            Object.keys(tags).length === 0
              ? []
              : [
                  {
                    ResourceType: 'instance',
                    Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
                  },
                ],
        }),
      );
      const id = Instances[0]?.InstanceId;
      if (id === undefined) throw new Error('moto launched nothing');
      return id;
    },
    stop: async (id) => {
      await ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
    },
    terminate: async (id) => {
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    },
    settle: () => Promise.resolve(),
    ...nothingToClose,
  };
}

export async function motoWorkflow(): Promise<WorkflowSubject> {
  const sfn = new SFNClient(connection());
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: `imds-rollout-${unique()}`,
      definition: JSON.stringify({
        StartAt: 'Wait',
        States: { Wait: { Type: 'Wait', Seconds: 36_000, End: true } },
      }),
      roleArn: 'arn:aws:iam::123456789012:role/imds-rollout-workflow',
    }),
  );
  if (stateMachineArn === undefined) throw new Error('moto made no state machine');
  return {
    port: createWorkflow(sfn, stateMachineArn),
    stop: async (name) => {
      const executionArn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
      await sfn.send(new StopExecutionCommand({ executionArn }));
    },
    ...nothingToClose,
  };
}

export async function motoReports(): Promise<ReportsSubject> {
  const s3 = new S3Client(connection());
  const Bucket = `evidence-${unique()}`;
  await s3.send(
    new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' } }),
  );
  return { port: createReports(s3, Bucket), ...nothingToClose };
}

export async function motoNotices(): Promise<NoticesSubject> {
  const bus = new EventBridgeClient(connection());
  const ArchiveName = `notices-${unique()}`;
  await bus.send(
    new CreateArchiveCommand({
      ArchiveName,
      EventSourceArn: 'arn:aws:events:eu-west-1:123456789012:event-bus/default',
      EventPattern: JSON.stringify({ source: ['imds-rollout'] }),
    }),
  );
  return {
    port: createNotices(bus),
    arrived: async () => (await bus.send(new DescribeArchiveCommand({ ArchiveName }))).EventCount ?? 0,
    ...nothingToClose,
  };
}
