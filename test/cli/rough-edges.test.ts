/** What the command says where something was left empty, was refused, did nothing, or is not over. */
import { describe, expect, it } from 'vitest';
import { resultSchema } from '../../simulator/run/result.ts';
import { command, scenarioFile, small, temporaryFolder } from './command.ts';

const file = scenarioFile(small());
const simulate = (text: string, ...args: string[]) =>
  command(['simulate', scenarioFile(text), '--report', temporaryFolder(), ...args]);

describe('simulate', () => {
  it('names the commands of the timeline that did nothing, and why', () => {
    const { status, stdout } = simulate(
      small(
        '  - {at: 2m, command: retry}\n  - {at: 50m, command: approve, by: nobody}\n  - {at: 51m, command: approve, hash: 0123456789ab}\n',
      ),
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Commands that did nothing$/m);
    expect(stdout).toMatch(/^\+2m +retry +rollout demo-\d+ of rack demo is running/m);
    expect(stdout).toMatch(/^\+50m +approve +there is no proof of identity/m);
    expect(stdout).toMatch(/^\+51m +approve +no rollout of rack demo waits for approval$/m);
  });

  it('says that a rollout still runs, and that runFor ended it', () => {
    const { stdout } = simulate(small().replace('runFor: 2h', 'runFor: 3m'));
    expect(stdout).toMatch(/3m of virtual time, seed \d+; ended since runFor was reached/);
    expect(stdout).toMatch(/^Outcome demo-\d+ still runs$/m);
    expect(stdout).not.toContain('Outcome none');
  });

  it('says that everything was quiet, and has it in the result', () => {
    const { stdout } = command(['simulate', file, '--json']);
    expect(resultSchema.parse(JSON.parse(stdout))).toMatchObject({ endedBecause: 'quiet', undone: [] });
    expect(simulate(small()).stdout).toContain('; ended since nothing has changed for 30m');
  });
});

describe('what is empty is refused by its name, with what is accepted', () => {
  it.each([
    [
      ['status', '--scenario', ''],
      /'--scenario <file>' argument '' is invalid\. It is empty; accepted: a scenario file\./,
    ],
    [
      ['status', '--scenario', file, '-r', ''],
      /'-r, --rack <rack>' .*accepted: the name of a registered rack/,
    ],
    [
      ['status', '--scenario', file, '--at', ''],
      /'--at <duration>' .*accepted: the time since the start, such as 90s/,
    ],
    [['status', '--region', ' '], /'--region <region>' .*accepted: a Region/],
    [['params', 'get', '', '--scenario', file], /^the parameter's name is empty; known are imds_/],
  ])('%j', (args, why) => {
    const { status, stdout, stderr } = command(args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(why);
  });
});

it.each([
  ['retry', /'--scenario <file>' .*It needs an account\. In a scenario, .*command: retry/],
  ['watch', /'--scenario <file>' .*It needs an account\. A played scenario is watched with/],
])('%s says that it needs an account', (name, why) => {
  const { status, stderr } = command([name, '--scenario', file]);
  expect(status).toBe(1);
  expect(stderr).toMatch(why);
});

it('params list ends with 1 where a value is refused', () => {
  const refused = scenarioFile(small().replace('imds_http_tokens: optional', 'imds_http_tokens: Required'));
  expect(command(['params', 'list', '--scenario', file]).status).toBe(0);
  for (const json of [[], ['--json']]) {
    const { status, stdout } = command(['params', 'list', '--scenario', refused, '--at', '30s', ...json]);
    expect(status).toBe(1);
    expect(stdout).toContain('Required');
  }
});

it('status has no table where there is no build node', () => {
  const text = small().replace(/^nodes:\n(?: {2}- .*\n)+/m, 'nodes: []\n');
  const { status, stdout } = command(['status', '--scenario', scenarioFile(text), '--at', '30s']);
  expect(status).toBe(0);
  expect(stdout).toContain('\nNo build node.\n');
  expect(stdout).not.toContain('NODE');
});

it('plan says what a hop limit of 1 does not do while tokens are optional', () => {
  const limited = small().replace('karpenter_build_imds_tokens: required, ', '');
  const at = (text: string) => command(['plan', '--scenario', scenarioFile(text), '--at', '61s']).stdout;
  expect(at(limited)).toMatch(
    /leaves: Hop limit 1 keeps pods from IMDSv2 alone.*IMDSv1 works whatever the limit/,
  );
  expect(at(small())).not.toContain('leaves:');
});
