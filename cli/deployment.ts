/** The deployment in an account, found by its stack, with the credentials of whoever asks. */
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SSMClient } from '@aws-sdk/client-ssm';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { awsClient, type AwsConnection } from '../adapters/aws-client.ts';
import { calling } from '../adapters/aws-errors.ts';
import { systemClock } from '../adapters/clock.ts';
import { createIdentities } from '../adapters/identities.ts';
import { ec2Instances } from '../adapters/instances.ts';
import { cloudWatchMetrics } from '../adapters/metadata-metrics.ts';
import { busNotices } from '../adapters/notices.ts';
import { eksPodIdentities } from '../adapters/pod-identities.ts';
import { rolloutPorts } from '../adapters/rollout-ports.ts';
import type { DecisionAnswer } from '../rollout/decide.ts';
import { NotFoundError } from '../rollout/errors.ts';
import type { Claim, PlanReads, SharedPorts } from '../rollout/ports.ts';
import { createAccess, type Access } from './account/access.ts';
import { createPermissions, type Permissions } from './account/permissions.ts';
import { decide } from './account/decide.ts';
import { createProgress, type Progress } from './account/progress.ts';
import { connectObjects, type Objects } from './account/objects.ts';
import { DEFAULT_STACK } from './default-stack.ts';
import { readOutputs, type Outputs, type Place } from './account/outputs.ts';
import { createStore, type Store } from './account/store.ts';

export interface DeploymentOptions {
  stack?: string;
  region?: string;
  profile?: string;
}

/** What commands work on. Everything is as the person may see it, not as the functions' roles may. */
export interface Deployment extends Place {
  outputs: Outputs;
  ports: SharedPorts;
  /** What a plan reads besides. */
  planReads: PlanReads;
  store: Store;
  access: Access;
  permissions: Permissions;
  progress: Progress;
  /** Connects anew each time; commands do so once. Throws NotFoundError where there is no such cluster. */
  objects(cluster: string): Promise<Objects>;
  /** Approves or rejects in the name of who asks, by the function `approve`. */
  decide(claim: Claim): Promise<DecisionAnswer>;
  /** The ARN of who asks. */
  identity(): Promise<string>;
}

export async function findDeployment({
  stack = DEFAULT_STACK,
  region,
  profile,
}: DeploymentOptions): Promise<Deployment> {
  const connection: AwsConnection = {
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
  };
  const client = awsClient(connection);
  const cloudFormation = new CloudFormationClient(client);
  const place: Place = { stack, region: await cloudFormation.config.region() };
  const outputs = await readOutputs(cloudFormation, place);
  const { ParameterPrefix, RecordPrefix } = outputs;
  const eks = new EKSClient(client);
  const iam = new IAMClient(client);
  const access = createAccess(eks, iam);
  const metrics = cloudWatchMetrics(connection);
  const settings = {
    PARAMETER_PREFIX: ParameterPrefix,
    RECORD_PREFIX: RecordPrefix,
    STATE_MACHINE_ARN: outputs.StateMachineArn,
    REPORT_BUCKET: outputs.ReportBucket,
  };
  return {
    ...place,
    outputs,
    ports: {
      ...rolloutPorts(settings, connection),
      identities: createIdentities(outputs.StateMachineArn, systemClock),
      instances: ec2Instances(connection),
      notices: busNotices(connection),
      metrics,
    },
    planReads: { metrics, podIdentities: eksPodIdentities(connection) },
    store: createStore(new SSMClient(client), outputs),
    access,
    permissions: createPermissions(iam),
    progress: createProgress(new SFNClient(client), outputs.StateMachineArn),
    objects: async (cluster) => {
      const facts = await access.cluster(cluster);
      if (facts === undefined) throw new NotFoundError(`there is no cluster ${cluster} in ${place.region}`);
      return connectObjects(facts, {
        region: place.region,
        credentials: eks.config.credentials,
        clock: systemClock,
      });
    },
    decide: (claim) => {
      const { ApproveFunction: functionName, StateMachineArn: stateMachineArn } = outputs;
      const { credentials } = eks.config;
      const lambda = new LambdaClient(invoking(client));
      return decide(lambda, { functionName, stateMachineArn, region: place.region, credentials }, claim);
    },
    identity: () =>
      calling('sts:GetCallerIdentity', 'these credentials', async () => {
        const { Arn } = await new STSClient(client).send(new GetCallerIdentityCommand({}));
        return Arn ?? 'unknown';
      }),
  };
}

/** Once, and for as long as the function may take: a second try would only hear that it was decided already. */
const invoking = (client: ReturnType<typeof awsClient>) => ({
  ...client,
  maxAttempts: 1,
  requestHandler: { ...client.requestHandler, requestTimeout: 120_000 },
});
