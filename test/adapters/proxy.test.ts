/** HTTPS_PROXY and NO_PROXY, on the way to AWS and to the clusters. */
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { DescribeParametersCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterEach, expect, it, vi } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { createAuthority } from './authority.ts';
import { startApiServer } from './local-api-server.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A proxy that tunnels, or refuses to, and remembers to whom. */
async function startProxy(tunnels: boolean) {
  const asked: string[] = [];
  const server = createServer().on('connect', ({ url = '' }, client) => {
    asked.push(url);
    if (!tunnels) {
      client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      return;
    }
    const [host, port] = url.split(':');
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    asked,
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const get = { verb: 'get', resource: 'nodes', method: 'GET', path: '/api/v1/nodes' } as const;

async function cluster() {
  const authority = await createAuthority('demo');
  const server = await startApiServer(authority, () => ({ body: { items: [] } }));
  const { endpoint } = server;
  const open = (certificateAuthority = authority.certificateAuthority) =>
    createApiClient({ name: 'demo', endpoint, certificateAuthority, token: async () => 'a token' });
  return { server, open, host: new URL(endpoint).host };
}

it('a cluster is reached through the proxy, and verified as without one', async () => {
  await using proxy = await startProxy(true);
  const { server, open, host } = await cluster();
  await using _ = server;
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  await open()(get);
  expect(proxy.asked).toEqual([host]);
  const other = await createAuthority('another');
  await expect(open(other.certificateAuthority)(get)).rejects.toThrow(/certificate/);
  expect(server.asked).toHaveLength(1);
});

it('a cluster that NO_PROXY names is reached without it', async () => {
  await using proxy = await startProxy(true);
  const { server, open } = await cluster();
  await using _ = server;
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  vi.stubEnv('NO_PROXY', '127.0.0.1');
  await open()(get);
  expect(proxy.asked).toEqual([]);
});

it('AWS is called through the proxy', async () => {
  await using proxy = await startProxy(false);
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
  const ssm = new SSMClient({ ...awsClient({ region: 'eu-west-1' }), credentials, maxAttempts: 1 });
  await expect(ssm.send(new DescribeParametersCommand({}))).rejects.toThrow();
  expect(proxy.asked).toEqual(['ssm.eu-west-1.amazonaws.com:443']);
});
