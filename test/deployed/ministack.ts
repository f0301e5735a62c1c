/**
 * ministack for the length of a run: the account into which the stack is deployed. What policies do not allow it
 * refuses, TLS that they demand it speaks, and its schedules and events reach the functions by themselves.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createAuthority } from '../adapters/authority.ts';
import { REGION } from '../karpenter/world.ts';
import { freePort, start, until, type Part } from '../karpenter/processes.ts';

export interface Ministack extends AsyncDisposable {
  endpoint: string;
  part: Part;
  /** For programs that call it as the account's owner. */
  environment: Record<string, string>;
  /** The AWS CLI; its answer, read as JSON where there is one. */
  aws(...args: string[]): Promise<unknown>;
}

const OWNER = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const ACCOUNT = '123456789012';

/** `bin` is where its commands are; `neighbours` answers for EC2 and EKS, to its functions too. */
export async function startMinistack(bin: string, neighbours: string): Promise<Ministack> {
  const folder = await mkdtemp(join(tmpdir(), 'imds-rollout-ministack-'));
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const { certificateAuthority, server } = await createAuthority('ministack');
  const authority = Buffer.from(certificateAuthority, 'base64').toString();
  const trusted = await file('ca.crt', authority);
  setDefaultCACertificates([...getCACertificates(), authority]);
  const endpoint = `https://127.0.0.1:${await freePort()}`;
  const elsewhere = { AWS_ENDPOINT_URL_EC2: neighbours, AWS_ENDPOINT_URL_EKS: neighbours };
  // Its functions inherit all of it, so that it is nothing of whoever runs this.
  const own = {
    AUTH: 'true',
    USE_SSL: '1',
    MINISTACK_SSL_CERT: await file('server.crt', server.cert),
    MINISTACK_SSL_KEY: await file('server.key', server.key),
    NODE_EXTRA_CA_CERTS: trusted,
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: new URL(endpoint).port,
    MINISTACK_HOST: '127.0.0.1',
    MINISTACK_ACCOUNT_ID: ACCOUNT,
    MINISTACK_REGION: REGION,
    HOME: folder,
    TMPDIR: folder,
    // Functions run on the `node` that is found first.
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    ...elsewhere,
  };
  const variables = Object.entries(own).map(([name, value]) => `${name}=${value}`);
  const part = start({
    name: 'ministack',
    command: 'env',
    args: ['-i', ...variables, `${bin}/python3`, fileURLToPath(new URL('corrected.py', import.meta.url))],
  });
  const end = async (): Promise<void> => {
    await part.end();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until('ministack is ready', [part], async () => {
      const { status } = await fetch(`${endpoint}/_ministack/ready`);
      if (status !== 200) throw new Error(`it answers ${status}`);
    });
  } catch (error) {
    await end();
    throw error;
  }
  const environment = {
    ...OWNER,
    ...elsewhere,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    NODE_EXTRA_CA_CERTS: trusted,
    AWS_CA_BUNDLE: trusted,
    // Nothing of whoever runs this.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  return {
    endpoint,
    part,
    environment,
    async aws(...args) {
      // The option, since of SQS the CLI does not read the variable.
      const more = ['--endpoint-url', endpoint, '--output', 'json'];
      const { stdout } = await promisify(execFile)(`${bin}/aws`, [...args, ...more], {
        env: { ...process.env, ...environment },
        maxBuffer: 1 << 26,
      });
      return stdout.trim() === '' ? undefined : (JSON.parse(stdout) as unknown);
    },
    [Symbol.asyncDispose]: end,
  };
}
