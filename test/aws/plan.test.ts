/** A plan on moto's account: a recording of all calls, of which none writes, and what CloudWatch counted. */
import { CloudWatchClient, PutMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { EC2Client, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { SFNClient } from '@aws-sdk/client-sfn';
import { PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { randomUUID } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { systemClock } from '../../adapters/clock.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { createInstances } from '../../adapters/instances.ts';
import { createMetadataMetrics } from '../../adapters/metadata-metrics.ts';
import { createParameters } from '../../adapters/parameters.ts';
import { createRecords } from '../../adapters/records.ts';
import { createWorkflow } from '../../adapters/workflow.ts';
import { explainPlan } from '../../cli/plan/explain.ts';
import type { Ports } from '../../rollout/ports.ts';
import { describeMetadataMetrics } from '../contract/metadata-metrics.ts';
import { apiOf } from '../plan-cluster.ts';

const connection = () => ({ ...awsClient(), endpoint: inject('moto') });

describeMetadataMetrics('moto', async () => {
  const cloudWatch = new CloudWatchClient(connection());
  const counted = `i-${randomUUID().slice(0, 8)}`;
  const quiet = `i-${randomUUID().slice(0, 8)}`;
  const until = new Date();
  await cloudWatch.send(
    new PutMetricDataCommand({
      Namespace: 'AWS/EC2',
      MetricData: [1, 2].map((Value) => ({
        MetricName: 'MetadataNoToken',
        Dimensions: [{ Name: 'InstanceId', Value: counted }],
        Timestamp: new Date(until.getTime() - 3_600_000),
        Value,
      })),
    }),
  );
  await cloudWatch.send(
    new PutMetricDataCommand({
      Namespace: 'AWS/EC2',
      MetricData: [
        {
          MetricName: 'CPUUtilization',
          Dimensions: [{ Name: 'InstanceId', Value: quiet }],
          Timestamp: new Date(until.getTime() - 3_600_000),
          Value: 12.5,
        },
      ],
    }),
  );
  return {
    port: createMetadataMetrics(cloudWatch),
    counted: { instanceId: counted, sum: 3 },
    silent: `i-${randomUUID().slice(0, 8)}`,
    quiet,
    unmeasured: `i-${randomUUID().slice(0, 8)}`,
    since: new Date(until.getTime() - 86_400_000),
    until,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
});

it('is written by nobody: every call on record is a read', { timeout: 180_000 }, async () => {
  const calls: string[] = [];
  /** Each command of each client as it is sent. */
  const recorded = <C extends { middlewareStack: { add: (...args: never[]) => void } }>(client: C): C => {
    const record =
      (next: (args: unknown) => unknown, context: { commandName?: string }) => (args: unknown) => {
        calls.push(context.commandName ?? '?');
        return next(args);
      };
    client.middlewareStack.add(record as never, { step: 'initialize', name: 'recorded' } as never);
    return client;
  };
  const cluster = `demo-${randomUUID().slice(0, 8)}`;
  const tags = { 'eks:eks-cluster-name': cluster, 'karpenter.k8s.aws/ec2nodeclass': 'build' };
  // Without a limit on the time: moto reads its data of EC2 at the first call.
  const { Instances = [] } = await new EC2Client({ endpoint: inject('moto') }).send(
    new RunInstancesCommand({
      ImageId: 'ami-12c6146b',
      MinCount: 1,
      MaxCount: 1,
      MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 2, HttpEndpoint: 'enabled' },
      TagSpecifications: [
        { ResourceType: 'instance', Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) },
      ],
    }),
  );
  const id = Instances[0]?.InstanceId ?? '';
  const unique = randomUUID().slice(0, 8);
  const ssm = new SSMClient(connection());
  const put = (Name: string, Value: string) =>
    ssm.send(new PutParameterCommand({ Name, Value, Type: 'String' }));
  const [parameters, records] = [`/racks-${unique}/`, `/imds-rollout-${unique}/`];
  const registration = { rack: 'demo', cluster, nodePool: 'build' };
  await put(`${records}demo/registration`, JSON.stringify(registration));
  const asked = {
    karpenter_enabled: 'true',
    build_node_enabled: 'true',
    imds_http_tokens: 'required',
    karpenter_build_imds_hop_limit: '1',
  };
  for (const [key, value] of Object.entries(asked)) await put(`${parameters}demo/${key}`, value);

  const api = apiOf(id);
  const reading = recorded(new SSMClient(connection()));
  const metrics = createMetadataMetrics(recorded(new CloudWatchClient(connection())));
  const nobody = { put: fail, send: fail, get: fail, list: fail };
  const ports: Ports = {
    clock: systemClock,
    parameters: createParameters(reading, parameters),
    records: createRecords(reading, records),
    instances: createInstances(recorded(new EC2Client(connection()))),
    clusters: { connect: async () => createCluster(api.client, systemClock) },
    workflow: createWorkflow(
      recorded(new SFNClient(connection())),
      'arn:aws:states:eu-west-1:123456789012:stateMachine:x',
    ),
    reports: nobody,
    approvals: { read: fail, write: fail },
    waitTokens: { read: fail, keep: fail, forget: fail },
    identities: { verify: fail },
    notices: nobody,
    metrics,
  };
  const reads = {
    metrics,
    podIdentities: { list: async () => [] },
  };
  const explained = await explainPlan({
    rack: 'demo',
    ports,
    reads,
    days: 14,
    forecast: { runs: 2, seed: 1 },
  });
  expect(explained.outcome).toBeNull();
  // moto knows no GetInstanceMetadataDefaults (moto-differs.test.ts): that part is unknown, and the rest is said.
  expect(explained.unknowns.map(({ needs }) => needs)).toEqual([
    'ec2:GetInstanceMetadataDefaults',
    // There is no such state machine here.
    'states:ListExecutions',
  ]);
  expect(explained.forecast).toMatchObject({ runs: 2, outcomes: { Succeeded: 1 } });
  expect(explained.workloads?.map(({ name, change }) => [name, change])).toEqual([
    ['castai-agent/castai-spot-handler', 'loses'],
  ]);
  expect(explained.evidence?.uses.map(({ count }) => count)).toEqual([null]);
  expect(explained.asked?.[1]?.parameter?.by).toMatch(/./);
  expect(calls).toContain('GetMetricDataCommand');
  expect(calls.filter((name) => !/^(Get|Describe|List)/.test(name))).toEqual([]);
  expect(new Set(api.verbs)).toEqual(new Set(['get', 'list']));
});

const fail = (): never => {
  throw new Error('a plan needs none of this');
};
