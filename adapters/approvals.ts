/**
 * What rollouts wait for a person with, in Parameter Store beside the record: `<prefix><rack>/approval` is JSON for
 * everybody who may read records; `<prefix><rack>/approval-token` is a SecureString, with the account's key for
 * Parameter Store (alias/aws/ssm).
 */
import { GetParameterCommand, PutParameterCommand, type SSMClient } from '@aws-sdk/client-ssm';
import { noApproval } from '../rollout/approval.ts';
import { NotFoundError } from '../rollout/errors.ts';
import type { Approvals } from '../rollout/ports.ts';
import { readApproval, readToken } from '../rollout/stored.ts';
import { calling } from './aws-errors.ts';

/** `prefix` begins and ends with `/`, e.g. `/imds-rollout/racks/`. */
export function createApprovals(client: SSMClient, prefix: string): Approvals {
  const get = async (name: string, decrypted: boolean): Promise<string | undefined> => {
    try {
      const { Parameter } = await calling('ssm:GetParameter', name, () =>
        client.send(new GetParameterCommand({ Name: name, WithDecryption: decrypted })),
      );
      return Parameter?.Value ?? '';
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  };
  const put = async (Name: string, Type: 'String' | 'SecureString', value: unknown): Promise<void> => {
    await calling('ssm:PutParameter', Name, () =>
      client.send(new PutParameterCommand({ Name, Type, Overwrite: true, Value: JSON.stringify(value) })),
    );
  };
  return {
    read: async (rack) => {
      const name = `${prefix}${rack}/approval`;
      const text = await get(name, false);
      return text === undefined ? { ...noApproval } : readApproval(name, text);
    },
    write: (rack, approval) => put(`${prefix}${rack}/approval`, 'String', approval),
    token: async (rack) => {
      const name = `${prefix}${rack}/approval-token`;
      const text = await get(name, true);
      return text === undefined ? undefined : readToken(name, text);
    },
    keepToken: (rack, token) => put(`${prefix}${rack}/approval-token`, 'SecureString', token),
  };
}
