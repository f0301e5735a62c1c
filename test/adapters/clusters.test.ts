import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createClusters } from '../../adapters/cluster/clusters.ts';
import { createTokens } from '../../adapters/cluster/token.ts';
import { createAuthority } from './authority.ts';
import { startApiServer, type Answer } from './local-api-server.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session/+=' };
const eks = new EKSClient({ region: 'eu-west-1', credentials });
const mock = mockClient(eks);
afterEach(() => mock.reset());

const at = (time: string) => ({ now: () => new Date(time) });

function decoded(token: string): URL {
  const [prefix, encoded, ...rest] = token.split('.');
  expect([prefix, rest]).toEqual(['k8s-aws-v1', []]);
  return new URL(Buffer.from(encoded ?? '', 'base64url').toString('utf8'));
}

describe("EKS's token", () => {
  it('is a presigned GetCallerIdentity for this cluster and nothing else', async () => {
    const clock = at('2026-03-02T09:00:00.500Z');
    const token = await createTokens({ region: 'eu-west-1', credentials, clock }, 'demo')();
    expect(token).toMatch(/^k8s-aws-v1\.[\w-]+$/);
    const url = decoded(token);
    expect(url.origin + url.pathname).toBe('https://sts.eu-west-1.amazonaws.com/');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20260302/eu-west-1/sts/aws4_request',
      'X-Amz-Date': '20260302T090000Z',
      'X-Amz-Expires': '60',
      'X-Amz-Security-Token': 'session/+=',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Signature': expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  it('has the signature that the AWS CLI gives', async () => {
    // `aws eks get-token --cluster-name demo --region eu-west-1` of awscli 1.46.3, with these credentials.
    const clock = at('2026-11-30T17:41:43Z');
    const token = await createTokens({ region: 'eu-west-1', credentials, clock }, 'demo')();
    expect(decoded(token).searchParams.get('X-Amz-Signature')).toBe(
      '1892ad79a8b177ae839e718d40a50aae698299466c624acfdfbef3b9384c30f7',
    );
  });

  it('depends on the cluster: a token for one is none for another', async () => {
    const source = { region: 'eu-west-1', credentials, clock: at('2026-03-02T09:00:00Z') };
    const signatures = await Promise.all(
      ['demo', 'other'].map(async (name) =>
        decoded(await createTokens(source, name)()).searchParams.get('X-Amz-Signature'),
      ),
    );
    expect(new Set(signatures).size).toBe(2);
  });

  it("is of the partition's own STS", async () => {
    const source = { region: 'cn-north-1', credentials, clock: at('2026-03-02T09:00:00Z') };
    expect(decoded(await createTokens(source, 'demo')()).host).toBe('sts.cn-north-1.amazonaws.com.cn');
  });

  it('is kept for ten minutes of the fifteen that it is accepted', async () => {
    let now = new Date('2026-03-02T09:00:00Z');
    const token = createTokens({ region: 'eu-west-1', credentials, clock: { now: () => now } }, 'demo');
    const first = await token();
    now = new Date('2026-03-02T09:09:59Z');
    expect(await token()).toBe(first);
    now = new Date('2026-03-02T09:10:00Z');
    expect(decoded(await token()).searchParams.get('X-Amz-Date')).toBe('20260302T091000Z');
  });

  it('is tried anew after the credentials could not be had', async () => {
    let fails = true;
    const source = {
      region: 'eu-west-1',
      credentials: async () => {
        if (fails) throw new Error('no credentials');
        return credentials;
      },
      clock: at('2026-03-02T09:00:00Z'),
    };
    const token = createTokens(source, 'demo');
    await expect(token()).rejects.toThrow('no credentials');
    fails = false;
    await expect(token()).resolves.toMatch(/^k8s-aws-v1\./);
  });
});

describe('connecting', () => {
  const clock = at('2026-03-02T09:00:00Z');

  it('asks EKS once for endpoint and authority, and signs with its own credentials', async () => {
    const authority = await createAuthority('ours');
    await using server = await startApiServer(authority, () => ({ body: { metadata: {} } }));
    mock.on(DescribeClusterCommand, { name: 'demo' }).resolves({
      cluster: { endpoint: server.endpoint, certificateAuthority: { data: authority.certificateAuthority } },
    });
    const clusters = createClusters(eks, clock);
    await (await clusters.connect('demo')).get('Node', 'build-1');
    await (await clusters.connect('demo')).get('Node', 'build-1');
    expect(mock).toHaveReceivedCommandTimes(DescribeClusterCommand, 1);
    const bearer = String(server.asked[0]?.headers['authorization']).replace('Bearer ', '');
    expect(decoded(bearer).searchParams.get('X-Amz-Credential')).toContain('AKIDEXAMPLE/');
  });

  it.each([
    [503, 'TransientError'],
    [401, 'ForbiddenError'],
  ])('asks EKS again after a %i, since the cluster may have been made again', async (code, name) => {
    const authority = await createAuthority('ours');
    const answer: Answer = { status: code, body: {} };
    await using server = await startApiServer(authority, () => answer);
    mock.on(DescribeClusterCommand).resolves({
      cluster: { endpoint: server.endpoint, certificateAuthority: { data: authority.certificateAuthority } },
    });
    const clusters = createClusters(eks, clock);
    const cluster = await clusters.connect('demo');
    await expect(cluster.patch('Node', 'build-1', {})).rejects.toThrow(expect.objectContaining({ name }));
    await clusters.connect('demo');
    expect(mock).toHaveReceivedCommandTimes(DescribeClusterCommand, 2);
  });

  it('waits for a cluster that is being made, and asks again', async () => {
    mock.on(DescribeClusterCommand).resolves({ cluster: { status: 'CREATING' } });
    const clusters = createClusters(eks, clock);
    for (const _ of ['once', 'twice']) {
      await expect(clusters.connect('demo')).rejects.toThrow(
        expect.objectContaining({
          name: 'TransientError',
          message: expect.stringContaining('CREATING') as string,
        }),
      );
    }
    expect(mock).toHaveReceivedCommandTimes(DescribeClusterCommand, 2);
  });

  it('names a cluster that is not there', async () => {
    const gone = Object.assign(new Error('No cluster found for name: demo.'), {
      name: 'ResourceNotFoundException',
      $metadata: {},
    });
    mock.on(DescribeClusterCommand).rejects(gone);
    await expect(createClusters(eks, clock).connect('demo')).rejects.toThrow(
      expect.objectContaining({ name: 'NotFoundError', cause: gone }),
    );
  });
});
