/** etcd and kube-apiserver on free ports of 127.0.0.1, with certificates of their own, for the length of a run. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { createAuthority } from '../adapters/authority.ts';

/** Who calls: the token's user and groups. */
export const users = {
  admin: 'system:masters',
  reads: 'imds-rollout:read',
  writes: 'imds-rollout:write',
  nobody: 'nobody',
} as const;

export interface ControlPlane extends AsyncDisposable {
  endpoint: string;
  certificateAuthority: string;
}

export async function startControlPlane(binary: string): Promise<ControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'imds-rollout-control-plane-'));
  const [clientPort, peerPort, apiPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const authority = await createAuthority('kubernetes');
  const file = async (name: string, content: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const tokens = Object.entries(users).map(([user, group]) => `${user}-token,${user},${user},"${group}"`);
  const etcdAt = `http://127.0.0.1:${String(clientPort)}`;
  const peersAt = `http://127.0.0.1:${String(peerPort)}`;

  const etcd = await start(binary, folder, 'etcd', [
    `--data-dir=${join(folder, 'data')}`,
    `--listen-client-urls=${etcdAt}`,
    `--advertise-client-urls=${etcdAt}`,
    `--listen-peer-urls=${peersAt}`,
    `--initial-advertise-peer-urls=${peersAt}`,
    `--initial-cluster=default=${peersAt}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ]);
  const api = await start(binary, folder, 'kube-apiserver', [
    `--etcd-servers=${etcdAt}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${String(apiPort)}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${await file('server.crt', authority.server.cert)}`,
    `--tls-private-key-file=${await file('server.key', authority.server.key)}`,
    `--service-account-key-file=${await file('sa.pub', publicKey)}`,
    `--service-account-signing-key-file=${await file('sa.key', privateKey)}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    `--token-auth-file=${await file('tokens.csv', tokens.join('\n'))}`,
    // Pods without a controller manager have no service account to be given.
    '--disable-admission-plugins=ServiceAccount',
  ]);
  const plane: ControlPlane = {
    endpoint: `https://127.0.0.1:${String(apiPort)}`,
    certificateAuthority: authority.certificateAuthority,
    async [Symbol.asyncDispose]() {
      await api.end();
      await etcd.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await until('the API server is ready', [etcd, api], async () => {
      // `default` is made by the server itself, a moment after it is ready.
      await clientOf(
        plane,
        'admin',
      )({
        verb: 'get',
        resource: 'namespaces',
        method: 'GET',
        path: '/api/v1/namespaces/default',
      });
    });
    return plane;
  } catch (error) {
    await plane[Symbol.asyncDispose]();
    throw error;
  }
}

/** The API server as one of the users. */
export const clientOf = (
  { endpoint, certificateAuthority }: Pick<ControlPlane, 'endpoint' | 'certificateAuthority'>,
  user: keyof typeof users,
) => createApiClient({ name: 'demo', endpoint, certificateAuthority, token: async () => `${user}-token` });

interface Part {
  name: string;
  /** What it said last, once it has ended. */
  ended(): string | undefined;
  end(): Promise<void>;
}

async function start(binary: string, folder: string, name: string, args: string[]): Promise<Part> {
  const program = join(folder, name);
  await symlink(binary, program);
  // It ends when its standard input does, so that none is left behind however this process ends.
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  let over = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  const closed = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      said += error.message;
      over = true;
      resolve();
    });
    child.on('close', () => {
      over = true;
      resolve();
    });
  });
  return {
    name,
    ended: () => (over ? said : undefined),
    async end() {
      child.kill();
      await closed;
    },
  };
}

const PATIENCE_MS = 120_000;

/** There is nothing to listen to: it has to be tried until it works. */
export async function until(
  what: string,
  parts: readonly Part[],
  attempt: () => Promise<void>,
): Promise<void> {
  const last = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      const gone = parts.find((part) => part.ended() !== undefined);
      if (gone !== undefined) throw new Error(`${gone.name} ended: ${gone.ended() ?? ''}`, { cause: error });
      if (Date.now() > last) throw new Error(`still not so: ${what}`, { cause: error });
      await pause(200);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
