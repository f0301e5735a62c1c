/** What a person writes in Parameter Store: a rack's parameters, and its registration. The service reads both. */
import { DeleteParameterCommand, PutParameterCommand, type SSMClient } from '@aws-sdk/client-ssm';
import { calling } from '../../adapters/aws-errors.ts';
import { NotFoundError } from '../../rollout/errors.ts';
import type { Registration } from '../../rollout/ports.ts';
import type { Outputs } from './outputs.ts';

export interface Store {
  setParameter(rack: string, key: string, value: string): Promise<void>;
  /** False where there was none. */
  unsetParameter(rack: string, key: string): Promise<boolean>;
  register(registration: Registration): Promise<void>;
  /** The record first, and the registration last: until then everything can be found again. */
  forget(rack: string): Promise<void>;
}

/** Where things are, as the stack's outputs say: prefixes that begin and end with `/`. */
type Prefixes = Pick<Outputs, 'ParameterPrefix' | 'RecordPrefix' | 'TokenPrefix'>;

export function createStore(client: SSMClient, prefixes: Prefixes): Store {
  const { ParameterPrefix: parameters, RecordPrefix: records, TokenPrefix: tokens } = prefixes;
  const put = async (Name: string, Value: string): Promise<void> => {
    await calling('ssm:PutParameter', Name, () =>
      client.send(new PutParameterCommand({ Name, Value, Type: 'String', Overwrite: true })),
    );
  };
  const remove = async (Name: string): Promise<boolean> => {
    try {
      await calling('ssm:DeleteParameter', Name, () => client.send(new DeleteParameterCommand({ Name })));
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  };
  return {
    setParameter: (rack, key, value) => put(`${parameters}${rack}/${key}`, value),
    unsetParameter: (rack, key) => remove(`${parameters}${rack}/${key}`),
    register: (registration) =>
      put(`${records}${registration.rack}/registration`, JSON.stringify(registration)),
    forget: async (rack) => {
      if (tokens !== undefined) await remove(`${tokens}${rack}`);
      for (const what of ['approval-token', 'approval', 'record']) await remove(`${records}${rack}/${what}`);
      await remove(`${records}${rack}/registration`);
    },
  };
}
