/** Where the tokens of waits are kept, and that a wait goes on which the version before began. */
import {
  DeleteParameterCommand,
  GetParameterCommand,
  PutParameterCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { beforeEach, expect, it } from 'vitest';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';

const client = new SSMClient({ region: 'eu-west-1' });
const ssm = mockClient(client);
const stored = new Map<string, string>();
const tokens = createWaitTokens(client, '/imds-rollout/approval-tokens/', '/imds-rollout/racks/');

const PLACE = '/imds-rollout/approval-tokens/demo';
const FORMER = '/imds-rollout/racks/demo/approval-token';
const one = { execution: 'demo-1', token: 'first' };
const other = { execution: 'demo-2', token: 'second' };

/** As much of Parameter Store as is asked here. */
beforeEach(() => {
  ssm.reset();
  stored.clear();
  const missing = Object.assign(new Error('none'), { name: 'ParameterNotFound', $metadata: {} });
  ssm.on(GetParameterCommand).callsFake(({ Name }: { Name: string }) => {
    if (!stored.has(Name)) throw missing;
    return { Parameter: { Value: stored.get(Name) } };
  });
  ssm.on(PutParameterCommand).callsFake(({ Name, Value }: { Name: string; Value: string }) => {
    stored.set(Name, Value);
    return {};
  });
  ssm.on(DeleteParameterCommand).callsFake(({ Name }: { Name: string }) => {
    if (!stored.delete(Name)) throw missing;
    return {};
  });
});

it('keeps a token as a SecureString under the prefix of tokens alone', async () => {
  await tokens.keep('demo', one);
  expect(ssm).toHaveReceivedCommandExactlyOnceWith(PutParameterCommand, {
    Name: PLACE,
    Type: 'SecureString',
    Overwrite: true,
    Value: JSON.stringify(one),
  });
  expect(await tokens.read('demo')).toEqual(one);
  expect(ssm).toHaveReceivedCommandWith(GetParameterCommand, { Name: PLACE, WithDecryption: true });
});

it('reads where the version before kept it, and deletes it there once its wait is over', async () => {
  stored.set(FORMER, JSON.stringify(one));
  expect(await tokens.read('demo')).toEqual(one);
  await tokens.forget('demo', one);
  expect([...stored.keys()]).toEqual([]);
});

it('does not go back to a former token after a newer one', async () => {
  stored.set(FORMER, JSON.stringify(one));
  await tokens.keep('demo', other);
  expect([...stored.keys()]).toEqual([PLACE]);
  expect(await tokens.read('demo')).toEqual(other);
});

it('leaves the token of a wait that has begun since', async () => {
  await tokens.keep('demo', other);
  await tokens.forget('demo', one);
  expect(await tokens.read('demo')).toEqual(other);
});
