/** The CloudFormation stack by which the command line finds a deployment: its outputs, and nothing that is deployed. */
import { CloudFormationClient, CreateStackCommand } from '@aws-sdk/client-cloudformation';
import { DEFAULT_STACK } from '../../../cli/default-stack.ts';
import type { RolloutSettings } from '../../../adapters/rollout-ports.ts';
import { CLUSTER } from '../world.ts';

const ROLES = 'arn:aws:iam::123456789012:role/';

export async function createStack(settings: RolloutSettings): Promise<void> {
  const outputs = {
    ApproveFunction: 'imds-rollout-approve',
    StateMachineArn: settings.STATE_MACHINE_ARN,
    ReportBucket: settings.REPORT_BUCKET,
    ParameterPrefix: settings.PARAMETER_PREFIX,
    RecordPrefix: settings.RECORD_PREFIX,
    Clusters: CLUSTER,
    ReadingRoles: `${ROLES}reads`,
    WritingRoles: `${ROLES}writes`,
  };
  // A stack has to have a resource, whatever it is.
  const Any = {
    Type: 'AWS::SSM::Parameter',
    Properties: { Name: '/imds-rollout/stack', Type: 'String', Value: 'it' },
  };
  await new CloudFormationClient({}).send(
    new CreateStackCommand({
      StackName: DEFAULT_STACK,
      TemplateBody: JSON.stringify({
        Resources: { Any },
        Outputs: Object.fromEntries(Object.entries(outputs).map(([name, Value]) => [name, { Value }])),
      }),
    }),
  );
}
