/**
 * etcd and kube-apiserver, and where asked for the scheduler and the controller manager, on free ports of 127.0.0.1
 * with certificates of their own, for the length of a run.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { createAuthority, type Authority } from '../adapters/authority.ts';
import { endAll, freePort, start, until, type Part } from './processes.ts';

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
  /** For programs that read one, as the administrator. */
  kubeconfig: string;
  /** etcd and whatever else runs. */
  parts(): readonly Part[];
  /** kube-apiserver ends, until it is started again with all that it stored. */
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
}

export interface ControlPlaneOptions {
  binary: string;
  authority?: Authority;
  /** Where tokens are reviewed that are none of `users`, as EKS has it done. */
  tokenReviews?: string;
  /** Whether pods are scheduled, and nodes and pods looked after. */
  controllers?: boolean;
}

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { binary, tokenReviews } = options;
  const folder = await mkdtemp(join(tmpdir(), 'imds-rollout-control-plane-'));
  const [clientPort, peerPort, apiPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const authority = options.authority ?? (await createAuthority('kubernetes'));
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
  const etcdAt = `http://127.0.0.1:${clientPort}`;
  const peersAt = `http://127.0.0.1:${peerPort}`;
  const endpoint = `https://127.0.0.1:${apiPort}`;
  const kubeconfig = await file('kubeconfig', kubeconfigFor(endpoint, authority, 'admin-token'));
  const serviceAccountKey = await file('sa.key', privateKey);
  const apiServerArgs = [
    `--etcd-servers=${etcdAt}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${apiPort}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${await file('server.crt', authority.server.cert)}`,
    `--tls-private-key-file=${await file('server.key', authority.server.key)}`,
    `--service-account-key-file=${await file('sa.pub', publicKey)}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    `--token-auth-file=${await file('tokens.csv', tokens.join('\n'))}`,
    // Pods here have no use for a service account's token.
    '--disable-admission-plugins=ServiceAccount',
    ...(tokenReviews === undefined
      ? []
      : [
          `--authentication-token-webhook-config-file=${await file('reviews', kubeconfigFor(tokenReviews, authority, ''))}`,
          '--authentication-token-webhook-version=v1',
        ]),
  ];
  const begin = async (name: string, args: string[]): Promise<Part> => {
    const command = join(folder, name);
    await rm(command, { force: true });
    await symlink(binary, command);
    return start({ name, command, args, watchesInput: true });
  };

  const etcd = await begin('etcd', [
    `--data-dir=${join(folder, 'data')}`,
    `--listen-client-urls=${etcdAt}`,
    `--advertise-client-urls=${etcdAt}`,
    `--listen-peer-urls=${peersAt}`,
    `--initial-advertise-peer-urls=${peersAt}`,
    `--initial-cluster=default=${peersAt}`,
    '--unsafe-no-fsync',
    '--log-level=error',
  ]);
  let apiServer: Part | undefined = await begin('kube-apiserver', apiServerArgs);
  const controllers: Part[] = [];
  const plane: ControlPlane = {
    endpoint,
    certificateAuthority: authority.certificateAuthority,
    kubeconfig,
    parts: () => [etcd, ...(apiServer === undefined ? [] : [apiServer]), ...controllers],
    async stopApiServer() {
      const ending = apiServer;
      apiServer = undefined;
      await ending?.end();
    },
    async startApiServer() {
      apiServer ??= await begin('kube-apiserver', apiServerArgs);
      await ready();
    },
    async [Symbol.asyncDispose]() {
      await endAll(plane.parts());
      await rm(folder, { recursive: true, force: true });
    },
  };
  // `default` is made by the server itself, a moment after it is ready.
  const ready = (): Promise<unknown> =>
    until('the API server is ready', plane.parts(), () =>
      clientOf(
        plane,
        'admin',
      )({ verb: 'get', resource: 'namespaces', method: 'GET', path: '/api/v1/namespaces/default' }),
    );
  try {
    await ready();
    if (options.controllers === true) {
      const shared = ['--leader-elect=false', '--secure-port=0', `--kubeconfig=${kubeconfig}`];
      controllers.push(
        await begin('kube-scheduler', shared),
        await begin('kube-controller-manager', [
          ...shared,
          `--service-account-private-key-file=${serviceAccountKey}`,
        ]),
      );
    }
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

/** JSON is YAML. */
function kubeconfigFor(server: string, { certificateAuthority }: Authority, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'it', cluster: { server, 'certificate-authority-data': certificateAuthority } }],
    users: [{ name: 'it', user: token === '' ? {} : { token } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    'current-context': 'it',
  });
}
