/** Where the tokens of waits are kept, and that a wait goes on which the version before began. */
import { GetParameterCommand, PutParameterCommand } from '@aws-sdk/client-ssm';
import 'aws-sdk-client-mock-vitest/extend';
import { expect, it } from 'vitest';
import { createWaitTokens } from '../../adapters/wait-tokens.ts';
import { ssmInMemory } from './ssm-in-memory.ts';

const PLACE = '/imds-rollout/approval-tokens/demo';
const FORMER = '/imds-rollout/racks/demo/approval-token';
const one = { execution: 'demo-1', token: 'first' };
const other = { execution: 'demo-2', token: 'second' };
const former = { value: JSON.stringify(one), type: 'SecureString' };

function given() {
  const { client, mock, stored } = ssmInMemory();
  const tokens = createWaitTokens(client, '/imds-rollout/approval-tokens/', '/imds-rollout/racks/');
  return { tokens, ssm: mock, stored };
}

it('keeps a token as a SecureString under the prefix of tokens alone', async () => {
  const { tokens, ssm } = given();
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
  const { tokens, stored } = given();
  stored.set(FORMER, former);
  expect(await tokens.read('demo')).toEqual(one);
  await tokens.forget('demo', one);
  expect([...stored.keys()]).toEqual([]);
});

it('does not go back to a former token after a newer one', async () => {
  const { tokens, stored } = given();
  stored.set(FORMER, former);
  await tokens.keep('demo', other);
  expect([...stored.keys()]).toEqual([PLACE]);
  expect(await tokens.read('demo')).toEqual(other);
});
