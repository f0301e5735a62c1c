/** What is deleted in Parameter Store when a rack is forgotten, and in which order. */
import { DeleteParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { createStore } from '../../cli/account/store.ts';

const prefixes = { ParameterPrefix: '/racks/', RecordPrefix: '/imds-rollout/racks/' };
const memory = ['approval-token', 'approval', 'record', 'registration'].map(
  (what) => `/imds-rollout/racks/demo/${what}`,
);

it.each([
  [
    'with its token',
    { ...prefixes, TokenPrefix: '/imds-rollout/approval-tokens/' },
    ['/imds-rollout/approval-tokens/demo', ...memory],
  ],
  ['of a deployment that has no place for tokens yet', prefixes, memory],
])('forgets a rack %s', async (_what, given, deleted) => {
  const client = new SSMClient({ region: 'eu-west-1' });
  const ssm = mockClient(client);
  await createStore(client, given).forget('demo');
  expect(ssm.commandCalls(DeleteParameterCommand).map(({ args }) => args[0].input.Name)).toEqual(deleted);
});
