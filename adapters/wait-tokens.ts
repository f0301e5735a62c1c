/**
 * The tokens of waits in Parameter Store, `<tokenPrefix><rack>`: SecureStrings under a prefix of their own. Whoever may
 * read a path may have all below it decrypted, and the account's key for Parameter Store (alias/aws/ssm) is everybody's
 * in the account; so what keeps others away is that nobody but `approve` may read this path.
 */
import type { SSMClient } from '@aws-sdk/client-ssm';
import type { WaitToken, WaitTokens } from '../rollout/ports.ts';
import { readToken } from '../rollout/stored.ts';
import { deleteParameter, getParameter, putParameter } from './one-parameter.ts';

/** Both prefixes begin and end with `/`. `recordPrefix` is where version 0.1.0 kept tokens: a wait of its goes on. */
export function createWaitTokens(client: SSMClient, tokenPrefix: string, recordPrefix: string): WaitTokens {
  const nameOf = (rack: string): string => `${tokenPrefix}${rack}`;
  const formerNameOf = (rack: string): string => `${recordPrefix}${rack}/approval-token`;
  const placesOf = (rack: string): string[] => [nameOf(rack), formerNameOf(rack)];
  const readAt = async (name: string): Promise<WaitToken | undefined> => {
    const text = await getParameter(client, name, { decrypted: true });
    return text === undefined ? undefined : readToken(name, text);
  };
  return {
    read: async (rack) => {
      for (const name of placesOf(rack)) {
        const found = await readAt(name);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    keep: async (rack, token) => {
      await putParameter(client, nameOf(rack), JSON.stringify(token), 'SecureString');
      await deleteParameter(client, formerNameOf(rack));
    },
    forget: async (rack, { token }) => {
      for (const name of placesOf(rack)) {
        // Another wait may have begun since.
        if ((await readAt(name))?.token === token) await deleteParameter(client, name);
      }
    },
  };
}
