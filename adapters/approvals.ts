/**
 * What rollouts wait for a person with, in Parameter Store beside the record: `<prefix><rack>/approval`, JSON for
 * everybody who may read records.
 */
import type { SSMClient } from '@aws-sdk/client-ssm';
import { noApproval } from '../rollout/approval.ts';
import type { Approvals } from '../rollout/ports.ts';
import { readApproval } from '../rollout/stored.ts';
import { getParameter, putParameter } from './one-parameter.ts';

/** `prefix` begins and ends with `/`, e.g. `/imds-rollout/racks/`. */
export function createApprovals(client: SSMClient, prefix: string): Approvals {
  const nameOf = (rack: string): string => `${prefix}${rack}/approval`;
  return {
    read: async (rack) => {
      const text = await getParameter(client, nameOf(rack));
      return text === undefined ? { ...noApproval } : readApproval(nameOf(rack), text);
    },
    write: (rack, approval) => putParameter(client, nameOf(rack), JSON.stringify(approval)),
  };
}
