import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resultSchema } from '../../simulator/run/result.ts';
import { command, scenarioFile, small, temporaryFolder } from './command.ts';

describe('simulate', () => {
  it('prints what it came to and writes the report', () => {
    const folder = temporaryFolder();
    const { status, stdout, stderr } = command(['simulate', scenarioFile(small()), '--report', folder]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/Outcome Succeeded: no build instance is left, /);
    expect(stdout).toMatch(/^busy +build +i-\w+ +optional\/3 +– /m);
    expect(stdout).toMatch(/^b-1 +busy +finished /m);
    expect(stdout).toContain('No invariant is broken.');
    const page = /Report: (.+\.html)$/m.exec(stdout)?.[1] ?? '';
    expect(page.startsWith(join(folder, 'small-fleet'))).toBe(true);
    expect(readFileSync(page, 'utf8')).toContain('<!doctype html>');
    expect(existsSync(page.replace('.html', '.json'))).toBe(true);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints one JSON object and nothing else', () => {
    const { status, stdout, stderr } = command(['simulate', scenarioFile(small()), '--json', '--seed', '7']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const result = resultSchema.parse(JSON.parse(stdout));
    expect(result).toMatchObject({ outcome: 'Succeeded', buildsLost: 0, violations: [], seed: 7 });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  });

  it("shows the class of the rack's pool, whatever its name", () => {
    const named = small()
      .replace('classes: {build:', 'classes: {agents:')
      .replace('class: build', 'class: agents');
    const { stdout, stderr } = command(['simulate', scenarioFile(named), '--watch']);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^\S+ +class agents: optional\/3$/m);
    expect(stdout).toMatch(/^\S+ +class agents: required\/1$/m);
  });

  it('gives the same result twice', () => {
    const file = scenarioFile(small());
    const [one, other] = [command(['simulate', file, '--json']), command(['simulate', file, '--json'])];
    expect(one.stdout).toBe(other.stdout);
  });

  it('ends with 0 where everything is as expected, with 2 and the differences where not', () => {
    const expected = command([
      'simulate',
      scenarioFile(small('expect: {outcome: Succeeded, held: []}\n')),
      '--json',
    ]);
    expect(expected).toMatchObject({ status: 0, stderr: '' });
    const other = command([
      'simulate',
      scenarioFile(small('expect: {outcome: Failed, builds: [{name: b-1, changedUnder: true}]}\n')),
      '--json',
    ]);
    expect(other.status).toBe(2);
    expect(other.stderr.trimEnd().split('\n')).toEqual([
      'not as expected: outcome: expected "Failed", got "Succeeded"',
      'not as expected: builds[b-1].changedUnder: expected true, got false',
    ]);
    expect(JSON.parse(other.stdout)).toMatchObject({ outcome: 'Succeeded' });
  });

  it('is quiet where the reader has read enough', () => {
    const { stdout, stderr } = spawnSync(
      'sh',
      [
        '-c',
        'node cli/main.ts simulate "$0" --watch --report "$1" | head -n 1',
        scenarioFile(small()),
        temporaryFolder(),
      ],
      {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` },
      },
    );
    expect({ stdout, stderr }).toEqual({
      stdout: expect.stringMatching(/^\+0s .*\n$/) as string,
      stderr: '',
    });
  });

  it('shows what happens, line by line where there is no terminal', () => {
    const { status, stdout } = command([
      'simulate',
      scenarioFile(small()),
      '--watch',
      '--report',
      temporaryFolder(),
    ]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\+0s +node busy: optional\/3, ready, runs b-1$/m);
    expect(stdout).toMatch(/^\+\S+ +class build: required\/1$/m);
    expect(stdout).toMatch(/^\+\S+ +node busy: .*cordoned and protected, runs b-1$/m);
    expect(stdout).toMatch(/^\+15m\w* +Build b-1: finished$/m);
    expect(stdout).toMatch(/^\+\S+ +node busy: gone$/m);
    expect(stdout).toContain('Outcome Succeeded');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('simulate refuses', () => {
  it('a scenario that is wrong, naming every problem and no stack', () => {
    const file = scenarioFile('name: x\nrunFor: 1h\nnodes: [{pool: biuld}]\nsed: 3\n');
    const { status, stdout, stderr } = command(['simulate', file, '--json']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      `${file}:4:1: sed: unknown key (did you mean seed?); accepted: name, rack, registered, seed, startsAt, runFor, racks, parameters, record, classes, pools, nodes, serviceAccounts, timeline, faults, karpenter, ec2, clocks, account, expect\n`,
    );
  });

  it('a file that is not there', () => {
    expect(command(['simulate', 'nowhere.yaml'])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'cannot read nowhere.yaml: there is no such file or folder\n',
    });
    expect(command(['simulate', 'docs']).stderr).toBe('cannot read docs: it is a folder\n');
  });

  it('a place for reports that cannot be written', () => {
    const { status, stderr } = command(['simulate', scenarioFile(small()), '--report', 'package.json']);
    expect(status).toBe(1);
    expect(stderr).toBe(
      'cannot write the report to package.json/small-fleet: a part of the path is a file, not a folder\n',
    );
  });

  it.each([
    [['simulate'], /^which scenario\? Give a file, or --from-live FILE/],
    [['simulate', 'x.yaml', '--sed', '1'], /unknown option '--sed'\n\(Did you mean --seed\?\)/],
    [['simulate', 'x.yaml', '--seed', 'a'], /accepted: a whole number/],
    [['simulat'], /unknown command 'simulat'\n\(Did you mean simulate\?\)/],
  ])('%j', (args, message) => {
    const { status, stdout, stderr } = command(args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('says so where reports cannot be written, below /proc too', () => {
    const { status, stderr } = command(['simulate', scenarioFile(small()), '--report', '/proc/imds-rollout']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^cannot write the report to \/proc\/imds-rollout\/small-fleet: /);
  });
});

it('tells its version', () => {
  expect(command(['--version'])).toEqual({ status: 0, stdout: '0.1.0\n', stderr: '' });
});
