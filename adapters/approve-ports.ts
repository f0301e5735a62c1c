/** What the function `approve` stands on, which calls no cluster. */
import { SSMClient } from '@aws-sdk/client-ssm';
import type { ApprovePorts } from '../rollout/approve.ts';
import { createApprovals } from './approvals.ts';
import { awsClient } from './aws-client.ts';
import { systemClock } from './clock.ts';
import { createIdentities } from './identities.ts';
import { busNotices } from './notices.ts';
import { createRecords } from './records.ts';
import { createWaitTokens } from './wait-tokens.ts';
import { stepFunctionsWorkflow } from './workflow.ts';

/** Named as in the environment of the function. */
export interface ApproveSettings {
  RECORD_PREFIX: string;
  /** Where the tokens of waits are: nothing else is, and nobody else reads there. */
  TOKEN_PREFIX: string;
  STATE_MACHINE_ARN: string;
}

export function approvePorts(settings: ApproveSettings): ApprovePorts {
  const ssm = new SSMClient(awsClient());
  return {
    clock: systemClock,
    records: createRecords(ssm, settings.RECORD_PREFIX),
    approvals: createApprovals(ssm, settings.RECORD_PREFIX),
    waitTokens: createWaitTokens(ssm, settings.TOKEN_PREFIX, settings.RECORD_PREFIX),
    identities: createIdentities(settings.STATE_MACHINE_ARN, systemClock),
    workflow: stepFunctionsWorkflow(settings.STATE_MACHINE_ARN),
    notices: busNotices(),
  };
}
