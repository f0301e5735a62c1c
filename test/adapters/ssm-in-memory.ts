/** As much of Parameter Store as one parameter at a time takes, behind a client of the SDK. */
import {
  DeleteParameterCommand,
  GetParameterCommand,
  PutParameterCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';

/** A standard parameter's. */
const MOST_BYTES = 4096;

interface Stored {
  value: string;
  type: string;
}

const error = (name: string): Error => Object.assign(new Error('in words'), { name, $metadata: {} });

export function ssmInMemory() {
  const client = new SSMClient({ region: 'eu-west-1' });
  const mock = mockClient(client);
  const stored = new Map<string, Stored>();
  const at = (Name: string): Stored => {
    const found = stored.get(Name);
    if (found === undefined) throw error('ParameterNotFound');
    return found;
  };
  mock
    .on(GetParameterCommand)
    .callsFake(({ Name, WithDecryption }: { Name: string; WithDecryption: boolean }) => {
      const { value, type } = at(Name);
      const isReadable = type !== 'SecureString' || WithDecryption;
      return { Parameter: { Value: isReadable ? value : `encrypted ${String(value.length)}` } };
    });
  mock
    .on(PutParameterCommand)
    .callsFake(({ Name, Value, Type }: { Name: string; Value: string; Type: string }) => {
      if (Buffer.byteLength(Value) > MOST_BYTES) throw error('ValidationException');
      stored.set(Name, { value: Value, type: Type });
      return {};
    });
  mock.on(DeleteParameterCommand).callsFake(({ Name }: { Name: string }) => {
    at(Name);
    stored.delete(Name);
    return {};
  });
  return { client, mock, stored };
}
