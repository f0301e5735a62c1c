/** `npm run cluster`: it comes up, is used with nothing but what it prints, and leaves nothing behind at a signal. */
import { GetParametersByPathCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { KubeConfig } from '@kubernetes/client-node';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { command } from '../cli/command.ts';
import { until } from './processes.ts';

const program = fileURLToPath(new URL('cluster.ts', import.meta.url));
const environmentFile = new URL('../../out/cluster.env', import.meta.url);
const parameter = { Name: '/racks/demo/karpenter_build_imds_tokens', Value: 'required' };

/** The variables of a file of `export NAME=value`. */
const environment = (): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(environmentFile, 'utf8').matchAll(/^export (\w+)=(.*)$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );

/** What the README shows that a command prints, in the session with this cluster. */
function shown(args: string): string {
  const [, session = ''] =
    /<!-- session: cluster -->([\s\S]*?)<!-- \/session -->/.exec(readFileSync('README.md', 'utf8')) ?? [];
  const from = session.split(`$ npm run -s imds-rollout -- ${args}\n`)[1];
  if (from === undefined) throw new Error(`the README's session has no imds-rollout ${args}`);
  return from.slice(0, from.indexOf('\n$ '));
}

/** The lines, each without what differs from run to run: names of nodes, and the width of columns. */
const shapes = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && line !== '…')
    .map((line) =>
      line
        .replaceAll(/kwok-\S+/g, 'NODE')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .sort();

/** A process and all that it started, by `ps`. */
function family(root: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const parents = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const below = (pid: number): number[] => [
    pid,
    ...parents.flatMap(([child, parent]) => (parent === pid && child !== undefined ? below(child) : [])),
  ];
  return below(root);
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it(
  'is up until a signal comes, and a parameter that is put starts a rollout',
  { timeout: 600_000 },
  async () => {
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    const says = (what: RegExp): Promise<void> =>
      until(
        `it says ${String(what)}`,
        [],
        async () => {
          expect(said).toMatch(what);
        },
        300_000,
      );
    try {
      await says(/^Ready\. Ctrl-C ends all of it\.$/m);
      const variables = environment();
      const ask = (...args: string[]) => command([...args, '-r', 'demo'], variables);

      const kubeconfig = new KubeConfig();
      kubeconfig.loadFromFile(variables['KUBECONFIG'] ?? '');
      expect(kubeconfig.getCurrentCluster()?.server).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
      expect(ask('status').stdout).toContain('Class demo: optional/2');

      const ssm = new SSMClient({ endpoint: variables['AWS_ENDPOINT_URL'] ?? '' });
      await ssm.send(new PutParameterCommand({ ...parameter, Type: 'String' }));
      const plan = ask('plan');
      expect(plan.status).toBe(2);
      expect(shapes(plan.stdout), plan.stdout).toEqual(expect.arrayContaining(shapes(shown('plan -r demo'))));
      await says(/ Create of \/racks\/demo\/karpenter_build_imds_tokens: told to parameter-changed$/m);
      await says(/ rollout demo-\d+: runs$/m);
      await until('the class is patched', [], async () => {
        expect(ask('status').stdout).toContain('Class demo: required/2');
      });
      expect(ask('status').stdout).toMatch(/^Workflow: demo-\d+ /m);
      expect(ask('params', 'get', 'karpenter_build_imds_tokens').stdout).toBe('required\n');
      const { Parameters = [] } = await ssm.send(new GetParametersByPathCommand({ Path: '/racks/demo' }));
      expect(Parameters.map(({ Name }) => Name)).toContain(parameter.Name);
    } catch (error) {
      throw new Error(`it had said: ${said}`, { cause: error });
    } finally {
      const all = family(child.pid ?? 0);
      expect(all.length).toBeGreaterThan(6);
      const closed = once(child, 'close');
      child.kill('SIGINT');
      await closed;
      await until('no process is left', [], async () => {
        expect(all.filter(runs)).toEqual([]);
      });
    }
    expect(child.exitCode).toBe(0);
    expect(said).toMatch(/^Ending\.$/m);
    expect(existsSync(environmentFile)).toBe(false);
  },
);
