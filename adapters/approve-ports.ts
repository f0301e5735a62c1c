/** What the function `approve` stands on, which calls no cluster. */
import { SSMClient } from '@aws-sdk/client-ssm';
import type { ApprovePorts } from '../rollout/approve.ts';
import { createApprovals } from './approvals.ts';
import { awsClient } from './aws-client.ts';
import { systemClock } from './clock.ts';
import { createIdentities } from './identities.ts';
import { busNotices } from './notices.ts';
import { createRecords } from './records.ts';
import type { RolloutSettings } from './rollout-ports.ts';
import { stepFunctionsWorkflow } from './workflow.ts';

export function approvePorts(
  settings: Pick<RolloutSettings, 'RECORD_PREFIX' | 'STATE_MACHINE_ARN'>,
): ApprovePorts {
  const ssm = new SSMClient(awsClient());
  return {
    clock: systemClock,
    records: createRecords(ssm, settings.RECORD_PREFIX),
    approvals: createApprovals(ssm, settings.RECORD_PREFIX),
    identities: createIdentities(settings.STATE_MACHINE_ARN, systemClock),
    workflow: stepFunctionsWorkflow(settings.STATE_MACHINE_ARN),
    notices: busNotices(),
  };
}
