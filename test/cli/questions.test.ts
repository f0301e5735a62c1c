/** params, plan, status and report: what they answer about a moment of a scenario. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { command, scenarioFile, small, temporaryFolder, type Ended } from './command.ts';

const file = scenarioFile(small());
const ask = (...args: string[]): Ended => command([...args, '--scenario', file]);

describe('params', () => {
  it('lists what is stored, what counts and where from, at the moment, by group', () => {
    const early = ask('params', 'list', '-g', 'security', '--at', '30s').stdout;
    expect(early).toMatch(/^imds_http_hop_limit +3 +3 +stored +security +2/m);
    expect(early).toMatch(/^karpenter_build_imds_hop_limit +– +3 +imds_http_hop_limit +security, build +–$/m);
    expect(early).not.toContain('karpenter_enabled');
    expect(early).toMatch(/^The rack asks for httpTokens=optional, httpPutResponseHopLimit=3 /m);
    const later = ask('params', 'list', '--at', '2m', '--json');
    expect(JSON.parse(later.stdout)).toContainEqual({
      key: 'karpenter_build_imds_hop_limit',
      groups: ['security', 'build'],
      stored: expect.objectContaining({ value: '1', type: 'String', version: 1 }) as object,
      effective: '1',
      from: 'stored',
    });
    const policies = ask('params', 'list', '-g', 'rollout');
    expect(policies).toMatchObject({ status: 0, stderr: 'nothing is set in group rollout on rack demo\n' });
    expect(policies.stdout).toMatch(/^imds_rollout_deadline +– +60m +default +rollout +–$/m);
  });

  it('tells who wrote what, and when', () => {
    expect(ask('params', 'history', 'karpenter_build_imds_tokens').stdout).toMatch(
      /^1 +required +2026-03-02T09:01:00.000Z +arn:aws:iam::123456789012:user\/platform-engineer$/m,
    );
    const json = ask('params', 'history', 'imds_http_tokens', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject([{ version: 1, value: 'optional' }]);
    expect(ask('params', 'history', 'imds_rollout_deadline')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'imds_rollout_deadline is not set on rack demo: Parameter Store keeps no history of what is deleted\n',
    });
  });

  it('gets one value', () => {
    expect(ask('params', 'get', 'imds_http_tokens')).toEqual({ status: 0, stdout: 'optional\n', stderr: '' });
    expect(ask('params', 'get', 'imds_rollout_deadline')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'imds_rollout_deadline is not set on rack demo; without it: `60m`\n',
    });
    expect(ask('params', 'get', 'imds_rollout_deadline', '--json')).toMatchObject({
      status: 1,
      stdout: 'null\n',
    });
    expect(ask('params', 'get', 'imds_htp_tokens')).toMatchObject({
      status: 1,
      stderr: 'unknown parameter imds_htp_tokens; did you mean imds_http_tokens?\n',
    });
  });

  it('says what setting would write and mean', () => {
    const { status, stdout } = ask(
      'params',
      'set',
      'karpenter_build_imds_tokens=',
      'imds_http_hop_limit=2',
      '--at',
      '2m',
      '--anyway',
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^karpenter_build_imds_tokens +required +\(deleted\)$/m);
    expect(stdout).toMatch(/^imds_http_hop_limit +3 +2$/m);
    expect(stdout).toContain('The rack would ask for httpTokens=optional, httpPutResponseHopLimit=1');
  });

  it('refuses what the service would refuse, every mistake at once', () => {
    const { status, stdout, stderr } = ask(
      'params',
      'set',
      'imds_http_tokens=Required',
      'imds_http_hop_limit=65',
      'nonsense',
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      'imds_http_tokens is "Required"; accepted is `optional` or `required`; did you mean `required`?',
      'imds_http_hop_limit is "65"; accepted is a whole number from 1 to 64; did you mean `64`?',
      'nonsense is not accepted; accepted: KEY=VALUE, or KEY= to delete',
    ]);
  });

  it('foresees that a loosening would wait for an approval', () => {
    const args = ['params', 'set', 'karpenter_build_imds_tokens=', '--scenario', scenarioFile(small())];
    const { status, stderr } = command([...args, '--at', '10m']);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^A rollout of it would wait for an approval: httpTokens required → optional \(looser\).*, since it loosens httpTokens$/m,
    );
  });

  it('foresees that the service would refuse a class that another pool uses, and writes nothing', () => {
    const text = small().replace(/^pools: .*$/m, 'pools: {build: {class: build}, other: {class: build}}');
    const args = ['params', 'set', 'imds_http_hop_limit=2', '--scenario', scenarioFile(text), '--at', '10m'];
    const { status, stdout, stderr } = command(args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^A rollout of it would be refused now: /);
    expect(stderr).toMatch(/EC2NodeClass build is also used by NodePool other/);
    expect(stderr).toMatch(/\nNothing was written; --anyway writes it all the same\n$/);
    const anyway = command([...args, '--anyway']);
    expect(anyway.status).toBe(0);
    expect(anyway.stderr).toMatch(/^A rollout of it would be refused now: /);
  });

  it('takes a policy also where the class would be refused: it may be what is missing', () => {
    const shared = scenarioFile(
      small().replace(/^pools: .*$/m, 'pools: {build: {class: build}, other: {class: build}}'),
    );
    const set = command(['params', 'set', 'imds_rollout_deadline=5m', '--scenario', shared]);
    expect(set).toMatchObject({ status: 0, stderr: expect.stringMatching(/would be refused now/) as string });
  });

  it('writes what it cannot tell about, and says so', () => {
    const away = scenarioFile(
      small('faults: [{api: "kubernetes:*", error: ServiceUnavailable, from: 5m}]\n'),
    );
    const set = command(['params', 'set', 'imds_http_hop_limit=2', '--scenario', away, '--at', '6m']);
    expect(set.status).toBe(0);
    expect(set.stderr).toMatch(/^Whether a rollout of it would be accepted cannot be told: not looked at /);
  });

  it('says what unsetting would mean', () => {
    const { status, stdout } = ask('params', 'unset', 'karpenter_enabled');
    expect(status).toBe(0);
    expect(stdout).toContain('The rack would ask for nothing yet: karpenter_enabled is not exactly "true".');
  });
});

describe('plan', () => {
  it('ends with 2 and says what becomes of each node, where something would change', () => {
    const asking = scenarioFile(
      small().replace('at: 1m', 'at: 0s').replace('timeline:', 'timeline:\n  - {at: 0s, event: lost}'),
    );
    const text = command(['plan', '--scenario', asking, '--at', '1m']);
    expect(text.status).toBe(2);
    expect(text.stdout).toContain(
      'Class build: httpTokens=optional, httpPutResponseHopLimit=3 → httpTokens=required, httpPutResponseHopLimit=1',
    );
    expect(text.stdout).toMatch(/^idle +optional\/3 +wrong +replaced by Karpenter +no$/m);
    expect(text.stdout).toMatch(
      /^busy +optional\/3 +wrong +builds\/b-1 +kept until its Builds end +if a Build still /m,
    );
    const json = command(['plan', '--scenario', asking, '--at', '1m', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      rack: 'demo',
      outcome: null,
      plan: { nodes: [{ node: 'idle' }, { node: 'busy' }] },
    });
  });

  it('ends with 0 where nothing would', () => {
    expect(ask('plan', '--at', '30s')).toMatchObject({ status: 0, stderr: '' });
    expect(ask('plan', '--at', '30s').stdout).toMatch(/^demo: nothing to do, /);
  });

  it('ends with 1 where it would be refused', () => {
    const refused = scenarioFile(small().replace('tokens: required', 'tokens: Required'));
    expect(command(['plan', '--scenario', refused, '--at', '2m'])).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'Refused: karpenter_build_imds_tokens is "Required"; accepted is `optional` or `required`; did you mean `required`?\n',
    });
  });

  it('answers at once where a fault delays calls', () => {
    const slow = scenarioFile(small('faults: [{api: "kubernetes:*", latency: 30s}]\n'));
    expect(command(['plan', '--scenario', slow, '--at', '30s'])).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('status', () => {
  it('says how the rack stands', () => {
    const { status, stdout } = ask('status', '--at', '10m');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^busy +optional\/3 +drifted +cordoned and protected +b-1 +its Builds$/m);
    expect(stdout).toContain('Asked for: httpTokens=required, httpPutResponseHopLimit=1');
    const json = ask('status', '--at', '10m', '--json', '-r', 'demo');
    expect(JSON.parse(json.stdout)).toMatchObject({
      rack: 'demo',
      asks: { kind: 'asks' },
      holdsMayExist: true,
    });
  });
});

describe('report', () => {
  it('shows the evidence, and writes it', () => {
    const folder = temporaryFolder();
    const { status, stdout, stderr } = ask('report', '--output', folder);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^demo-\d+ Succeeded: /);
    expect(stdout).toContain('Class build\noptional/3 → required/1');
    const page = /written to (.+)\n/.exec(stderr)?.[1] ?? '';
    expect(page.startsWith(join(folder, 'demo-'))).toBe(true);
    expect(readFileSync(page, 'utf8')).toContain('IMDS rollout of rack demo');
    const json = ask('report', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ schemaVersion: 1, outcome: 'Succeeded' });
  });

  it('says where there is none', () => {
    expect(ask('report', '--at', '30s')).toMatchObject({
      status: 1,
      stderr: 'there is no report of rack demo\n',
    });
    expect(ask('report', '--execution', 'demo-1').stderr).toMatch(
      /^there is no report of demo-1; there is demo-\d+\n$/,
    );
  });
});

describe('every question', () => {
  it('is about a scenario or about an account', () => {
    expect(ask('status', '--region', 'eu-west-1')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: '--region is about an account, --scenario about a file: give one of the two\n',
    });
    expect(command(['plan', '--at', '5m'])).toMatchObject({
      status: 1,
      stderr: '--at is about a moment of a scenario: give --scenario FILE with it\n',
    });
  });

  it('refuses another rack and a moment that is none', () => {
    expect(ask('status', '-r', 'other')).toMatchObject({
      status: 1,
      stderr: `there is no rack other in ${file}: its rack is demo\n`,
    });
    expect(ask('status', '--at', 'noon').stderr).toBe(
      '--at "noon" is not accepted; accepted: the time since the start, such as 90s, 12m or 1h1m36s\n',
    );
  });

  it('takes moments as they are printed, and says when there is none left', () => {
    expect(ask('status', '--at', '+1m30s')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^rack demo {2}\+1m30s /) as string,
      stderr: '',
    });
    expect(ask('status', '--at', '2d')).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^2d is after the end of .*: this is its end, \+\S+\n$/) as string,
    });
  });

  it.each([
    '',
    'simulate',
    'params',
    'params list',
    'params get',
    'params history',
    'params set',
    'params unset',
    'plan',
    'status',
    'report',
  ])('has help with examples: %s', (words) => {
    const { status, stdout } = command([...words.split(' ').filter(Boolean), '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Examples?:\n {2}imds-rollout /);
  });

  it('decides in a played scenario, and says that nothing of it is kept', () => {
    const example = ['approve', '--scenario', 'docs/examples/approved.yaml', '--at', '10m', '--reason'];
    expect(command([...example, 'CHG-1'])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /approved by .+\. A scenario is only played, so nothing of it is kept\.\n$/,
      ) as string,
    });
    expect(command([...example, ' '])).toMatchObject({
      status: 1,
      stderr: '--reason is empty: give 1 to 400 characters that say why\n',
    });
  });

  it('colours only where it is wanted', () => {
    const args = ['status', '--scenario', file, '--at', '10m'];
    expect(command(args, { FORCE_COLOR: '1' }).stdout).toContain('\u001b[');
    expect(command(args, { NO_COLOR: '1' }).stdout).not.toContain('\u001b[');
    expect(command(args).stdout).not.toContain('\u001b[');
  });
});
