/** What stands between this machine and the account, in two lines: what, and what to do. */
import {
  CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { calling } from '../../adapters/aws-errors.ts';
import { explain } from '../../cli/account/explain.ts';
import { createObjects } from '../../cli/account/objects.ts';
import { rbacManifests } from '../../cli/account/manifests.ts';
import { readOutputs } from '../../cli/account/outputs.ts';
import { CommandFailure } from '../../cli/failure.ts';
import { createAuthority } from '../adapters/authority.ts';
import { startApiServer, type Answer } from '../adapters/local-api-server.ts';

/** The two lines that a person reads; anything that is not a CommandFailure is thrown on. */
async function said(asked: Promise<unknown>): Promise<string[]> {
  try {
    await asked;
  } catch (thrown) {
    const error = explain(thrown);
    if (error instanceof CommandFailure) return error.message.split('\n');
    throw thrown;
  }
  return [];
}

const refused = (name: string, message: string): Promise<unknown> =>
  calling('ssm:GetParametersByPath', '/racks/demo', () =>
    Promise.reject(Object.assign(new Error(message), { name, $metadata: {} })),
  );

describe('AWS', () => {
  it.each([
    [
      'CredentialsProviderError',
      'Could not load credentials',
      /^there are no AWS credentials: /,
      /--profile/,
    ],
    ['ExpiredTokenException', 'The token has expired', /does not accept the credentials/, /Sign in again/],
    [
      'AccessDeniedException',
      'User: arn:aws:sts::1:assumed-role/Dev/me is not authorized to perform: ssm:GetParametersByPath',
      /^role Dev may not ssm:GetParametersByPath \(\/racks\/demo\)/,
      /docs\/permissions\.md/,
    ],
    [
      'NoSuchBucket',
      'The bucket does not exist',
      /NoSuchBucket/,
      /^The bucket of reports is gone: deploy again/,
    ],
    ['StateMachineDoesNotExist', 'none', /StateMachineDoesNotExist/, /^The workflow is gone: deploy again/],
    ['TimeoutError', 'took too long', /TimeoutError: took too long/, /^Try again/],
    ['ParameterNotFound', 'gone', /ParameterNotFound/, /doctor/],
  ])('%s', async (name, message, what, todo) => {
    expect(await said(refused(name, message))).toEqual([
      expect.stringMatching(what) as string,
      expect.stringMatching(todo) as string,
    ]);
  });

  it('no Region at all', async () => {
    const [what, todo] = await said(Promise.reject(new Error('Region is missing')));
    expect(todo).toContain('--scenario FILE');
    expect(what).toBe('no Region is given');
  });

  it('a Region that is none', async () => {
    const client = new CloudFormationClient({ region: 'eu west 1' });
    const [what, todo] = await said(client.config.region());
    expect(what).toMatch(/^the Region is none: .*"eu west 1"/);
    expect(todo).toMatch(/--region/);
  });

  it('leaves what nobody foresaw as it is', () => {
    const error = new TypeError('of ours');
    expect(explain(error)).toBe(error);
  });
});

describe('the stack', () => {
  const client = new CloudFormationClient({ region: 'eu-west-1' });
  const mock = mockClient(client);
  afterEach(() => mock.reset());
  const place = { stack: 'imds-rollout', region: 'eu-west-1' };

  it('is not there: says where it looked', async () => {
    mock.on(DescribeStacksCommand).rejects(
      new CloudFormationServiceException({
        name: 'ValidationError',
        message: 'Stack with id imds-rollout does not exist',
        $fault: 'client',
        $metadata: {},
      }),
    );
    expect(await said(readOutputs(client, place))).toEqual([
      'there is no stack imds-rollout in eu-west-1',
      expect.stringContaining('--region') as string,
    ]);
  });

  it('is another one: names the outputs that it lacks', async () => {
    mock.on(DescribeStacksCommand).resolves({
      Stacks: [
        {
          StackName: 'imds-rollout',
          CreationTime: new Date(0),
          StackStatus: 'ROLLBACK_COMPLETE',
          Outputs: [{ OutputKey: 'ReportBucket', OutputValue: 'reports' }],
        },
      ],
    });
    const [what] = await said(readOutputs(client, place));
    expect(what).toMatch(
      /\(ROLLBACK_COMPLETE\) lacks the outputs StateMachineArn, ApproveFunction, ParameterPrefix, RecordPrefix/,
    );
  });
});

describe('the cluster', () => {
  async function asked(answer: Answer, authority = 'ours', port?: number) {
    const [mine, theirs] = [await createAuthority('ours'), await createAuthority('theirs')];
    await using server = await startApiServer(mine, () => answer);
    const api = createApiClient({
      name: 'demo',
      endpoint: port === undefined ? server.endpoint : `https://127.0.0.1:${String(port)}`,
      certificateAuthority: (authority === 'ours' ? mine : theirs).certificateAuthority,
      token: async () => 'token',
    });
    const [manifest] = rbacManifests();
    if (manifest === undefined) throw new Error('there is no manifest');
    return await said(createObjects(api).create(manifest));
  }
  const status = (code: number, message: string): Answer => ({ status: code, body: { message } });

  it('refuses the token', async () => {
    expect(await asked(status(401, 'Unauthorized'))).toEqual([
      'cluster demo does not know you (401): the token of these credentials was refused',
      expect.stringContaining('create-access-entry') as string,
    ]);
  });

  it('refuses the action', async () => {
    const [what, todo] = await asked(status(403, 'clusterroles is forbidden'));
    expect(what).toMatch(/^you may not create clusterroles imds-rollout-read in cluster demo: 403 /);
    expect(todo).toContain('AmazonEKSClusterAdminPolicy');
  });

  it('shows a certificate of another authority', async () => {
    const [what, todo] = await asked({ body: {} }, 'theirs');
    expect(what).toMatch(/^cluster demo answers with a certificate that its own authority has not signed: /);
    expect(todo).toMatch(/proxy/);
  });

  it('cannot be reached', async () => {
    // Assigned to nobody, so nothing listens there.
    const [what, todo] = await asked({ body: {} }, 'ours', 10);
    expect(what).toMatch(/^cluster demo cannot be reached: .*ECONNREFUSED/);
    expect(todo).toMatch(/private endpoint/);
  });
});
