/** Each bundle as Lambda gets it: alone, in a fresh process, without a network. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readZip } from '../../scripts/package/zip.ts';
import { scan } from '../../scripts/permissions/scan.ts';
import { functionsOf, Template } from './template.ts';

const answerSchema = z.object({
  error: z.object({ name: z.string(), message: z.string() }).optional(),
  reached: z.array(z.string()),
});

/** Imports a handler, invokes it, and tells what it threw and whom it tried to reach. */
const driver = `
import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';
const reached = [];
const refuse = (host) => {
  reached.push(String(host));
  return Object.assign(new Error('no network here'), { code: 'ECONNREFUSED' });
};
dns.lookup = (host, options, done) => (done ?? options)(refuse(host));
net.Socket.prototype.connect = function (...args) {
  const [options] = args.flat();
  const error = refuse(options?.host ?? options);
  process.nextTick(() => this.destroy(error));
  return this;
};
dgram.createSocket = () => { throw refuse('udp'); };
let error;
try {
  const { handler } = await import(process.argv[2]);
  await handler(JSON.parse(process.argv[3]), { functionName: 'any', awsRequestId: '1', getRemainingTimeInMillis: () => 1000 });
} catch (thrown) {
  error = { name: thrown.name, message: thrown.message };
}
process.stdout.write('\\nANSWER ' + JSON.stringify({ error, reached }) + '\\n', () => process.exit());
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'imds-rollout-'));
  writeFileSync(join(folder, 'driver.mjs'), driver);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function invoke(bundle: string, event: unknown, environment: Record<string, string>) {
  const output = execFileSync(
    process.execPath,
    [join(folder, 'driver.mjs'), join(folder, bundle), JSON.stringify(event)],
    {
      cwd: folder,
      encoding: 'utf8',
      // What a handler logs is not what is looked at.
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...environment,
        AWS_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: 'any',
        AWS_SECRET_ACCESS_KEY: 'any',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    },
  );
  const line = output.split('\n').findLast((each) => each.startsWith('ANSWER '));
  return answerSchema.parse(JSON.parse(line?.slice(7) ?? 'null'));
}

/** How a client of the SDK calls its service, and IAM the same. */
const clients: Record<string, string> = {
  CloudWatch: 'cloudwatch',
  EC2: 'ec2',
  EKS: 'eks',
  EventBridge: 'events',
  S3: 's3',
  SFN: 'states',
  SSM: 'ssm',
};

/** Services whose endpoint is not called what IAM calls them. */
const endpoints: Record<string, string> = { cloudwatch: 'monitoring' };

const clientsIn = (bundle: string): Set<string> =>
  new Set(
    [...bundle.matchAll(/serviceId:\w+\?\.serviceId\?\?"([^"]+)"/g)]
      .map(([, service = '']) => clients[service])
      .filter((service) => service !== undefined),
  );

/** Of what every step stands on (adapters/rollout-ports.ts) a step may leave one uncalled; no client else. */
const COMMON = new Set(['ssm', 'eks', 's3', 'states']);

const calls = scan();

test('docs/network.md names the endpoints of all services that the bundles in a VPC have a client of', () => {
  const inVpc = [...functionsOf(new Template({ isInVpc: true })).values()].filter((one) => one.VpcConfig);
  expect(inVpc.length).toBeGreaterThan(0);
  const held = inVpc.flatMap(({ Handler, zip }) => {
    const file = readZip(readFileSync(zip)).get(Handler.replace(/\.handler$/, '.mjs'));
    return [...clientsIn(file?.toString() ?? '')];
  });
  const named = [
    ...readFileSync('docs/network.md', 'utf8').matchAll(/com\.amazonaws\.<region>\.([a-z0-9]+)/g),
  ];
  expect(named.map(([, service]) => service).sort()).toEqual(
    [...new Set(held)].map((service) => endpoints[service] ?? service).sort(),
  );
});

describe.each([...functionsOf(new Template())])('%s', (name, { Handler, Environment, zip }) => {
  const path = Handler.replace(/\.handler$/, '.mjs');
  const files = readZip(readFileSync(zip));
  const bundle = files.get(path) ?? Buffer.from('');
  const called = new Set([...(calls.get(name)?.actions ?? [])].map((action) => action.split(':')[0] ?? ''));

  beforeAll(() => {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), bundle);
  });

  test('is its bundle and nothing else', () => {
    expect([...files.keys()]).toEqual([path]);
  });

  test('has the clients that it calls', () => {
    const own = clientsIn(bundle.toString());
    expect([...called].filter((service) => !own.has(service))).toEqual([]);
    const idle = [...own].filter((service) => !called.has(service));
    expect(idle.filter((service) => called.size < COMMON.size || !COMMON.has(service))).toEqual([]);
  });

  test('has a Kubernetes client only where it calls a cluster', () => {
    expect(bundle.includes('KubeConfig')).toBe(calls.get(name)?.cluster !== 'nothing');
  });

  test('answers an event of a wrong shape with its own refusal, and reaches for nobody', () => {
    const { error, reached } = invoke(path, { of: 'a wrong shape' }, Environment.Variables);
    if (name === 'reconcile') {
      // It takes any event, and its first question is to Parameter Store. By this name the workflow retries too, so
      // a minified class must keep it.
      expect(error?.name).toBe('TransientError');
      expect(new Set(reached)).toEqual(new Set(['ssm.eu-central-1.amazonaws.com']));
      return;
    }
    expect(error?.name).toMatch(name === 'approve' ? 'InvalidError' : /^(ZodError|ParseError)$/);
    expect(reached).toEqual([]);
  });

  test('says what is wrong with its environment', () => {
    const { error, reached } = invoke(path, {}, {});
    expect(error?.name).toBe('EnvironmentError');
    expect(error?.message).toContain('STATE_MACHINE_ARN is not set');
    expect(reached).toEqual([]);
  });
});
