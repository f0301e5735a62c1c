/**
 * Somebody in a network namespace who calls IMDS: `IMDSv1` and `IMDSv2` on standard input, an answer a line; `dropped`
 * says how many packets this namespace has dropped as a router since their TTL had run out. Started by namespaces.ts.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';

const HOST = '169.254.169.254';

interface Answer {
  status: number;
  body: string;
}

const call = (method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    // A connection for each call, which the caller ends.
    const agent = new Agent({ keepAlive: true });
    const sent = request({ host: HOST, method, path, headers, agent }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.on('end', () => {
        agent.destroy();
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
    sent.on('error', reject);
    sent.end();
  });

const ID = '/latest/meta-data/instance-id';

async function metadata(version: string): Promise<number> {
  if (version === 'IMDSv1') return (await call('GET', ID)).status;
  const { status, body } = await call('PUT', '/latest/api/token', {
    'X-aws-ec2-metadata-token-ttl-seconds': '60',
  });
  return status === 200 ? (await call('GET', ID, { 'X-aws-ec2-metadata-token': body })).status : status;
}

/** InHdrErrors of the namespace's IP statistics: a router counts there what it may not pass on. */
function dropped(): number {
  const [names = '', values = ''] = readFileSync('/proc/self/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Ip:'));
  const place = names.split(' ').indexOf('InHdrErrors');
  return Number(values.split(' ')[place]);
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (line === 'dropped') say(`dropped ${String(dropped())}`);
  else
    metadata(line).then(
      (status) => {
        say(`answered ${String(status)}`);
      },
      // Cut by the endpoint before the next cell, or refused: whoever waits has gone on.
      () => undefined,
    );
});
lines.on('close', () => {
  process.exit();
});
say('ready');
