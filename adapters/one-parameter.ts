/** One parameter of Parameter Store by its whole name. */
import {
  DeleteParameterCommand,
  GetParameterCommand,
  PutParameterCommand,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { calling, unlessMissing } from './aws-errors.ts';

/** Its value, decrypted where it is said; undefined where there is none of that name. */
export async function getParameter(
  client: SSMClient,
  Name: string,
  { decrypted = false } = {},
): Promise<string | undefined> {
  const asked = new GetParameterCommand({ Name, WithDecryption: decrypted });
  return unlessMissing(
    calling('ssm:GetParameter', Name, async () => (await client.send(asked)).Parameter?.Value ?? ''),
  );
}

/** Written over whatever was there. A SecureString is encrypted with the account's own key (alias/aws/ssm). */
export async function putParameter(
  client: SSMClient,
  Name: string,
  Value: string,
  Type: 'String' | 'SecureString' = 'String',
): Promise<void> {
  await calling('ssm:PutParameter', Name, () =>
    client.send(new PutParameterCommand({ Name, Type, Overwrite: true, Value })),
  );
}

/** Nothing is done where there is none. */
export async function deleteParameter(client: SSMClient, Name: string): Promise<void> {
  await unlessMissing(
    calling('ssm:DeleteParameter', Name, () => client.send(new DeleteParameterCommand({ Name }))),
  );
}
