/** Names of executions: what Step Functions takes, and whose they are. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { executionName, executionsOf, leaseName, reportKey, slug } from '../../rollout/naming.ts';
import type { Execution } from '../../rollout/ports.ts';
import { at, START } from './given.ts';

const running = (name: string): Execution => ({ name, startedAt: START.toISOString(), status: 'RUNNING' });

describe('the slug of a rack', () => {
  it.each([
    ['demo', 'demo'],
    ['Demo_1-b', 'Demo_1-b'],
    ['a'.repeat(40), 'a'.repeat(40)],
  ])('%s is itself', (rack, expected) => {
    expect(slug(rack)).toBe(expected);
  });

  it.each([
    ['a'.repeat(41), 'a'.repeat(31)],
    ['a'.repeat(100), 'a'.repeat(31)],
    ['org.team', 'org-team'],
    ['org.team.'.repeat(12), 'org-team-org-team-org-team-org-'],
    ['räck', 'r-ck'],
    ['rack\n', 'rack-'],
  ])('%j is cleaned, and hashed so that two racks stay two', (rack, cleaned) => {
    expect(slug(rack)).toMatch(new RegExp(`^${cleaned}-[0-9a-f]{8}$`));
    expect(slug(rack).length).toBeLessThanOrEqual(40);
  });

  it('keeps racks apart that clean to the same', () => {
    const racks = ['a.b', 'a-b', 'a/b', 'a b', `${'x'.repeat(40)}1`, `${'x'.repeat(40)}2`];
    expect(new Set(racks.map(slug)).size).toBe(racks.length);
  });
});

describe('the name of an execution', () => {
  it('is one for 30 seconds, and another for the next', () => {
    expect(executionName('demo', START)).toBe(`demo-${START.getTime() / 30_000}`);
    expect(executionName('demo', at(29.999))).toBe(executionName('demo', START));
    expect(executionName('demo', at(30))).not.toBe(executionName('demo', START));
    expect(executionName('demo', at(-0.001))).not.toBe(executionName('demo', START));
  });

  it('is one that Step Functions takes, whatever the rack, for a thousand years', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 100, unit: 'grapheme' }),
        fc.date({ min: START, max: new Date('3026-01-01'), noInvalidDate: true }),
        (rack, now) => {
          expect(executionName(rack, now)).toMatch(/^[0-9A-Za-z_-]{1,80}$/);
        },
      ),
    );
  });
});

describe('the executions of a rack', () => {
  it('are those of its own name alone', () => {
    const racks = ['demo', 'demo-1', 'demo-1-1', 'demo.1', 'dem', 'emo', 'demo-59', `demo-${'9'.repeat(8)}`];
    const all = racks.map((rack) => running(executionName(rack, START)));
    for (const [index, rack] of racks.entries()) expect(executionsOf(rack, all), rack).toEqual([all[index]]);
  });

  it('leave out what was started by hand under another name', () => {
    expect(
      executionsOf('demo', ['demo', 'demo-', 'demo-x', 'demo-12x', 'demo-1-2', 'xdemo-12'].map(running)),
    ).toEqual([]);
  });

  it('are found again, whatever the rack', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 100 }),
        fc.string({ minLength: 1, maxLength: 100 }),
        (one, other) => {
          fc.pre(one !== other);
          const mine = running(executionName(one, START));
          expect(executionsOf(one, [mine, running(executionName(other, START))])).toEqual([mine]);
        },
      ),
    );
  });
});

it('names Lease and report', () => {
  expect(leaseName('build')).toBe('imds-rollout-build');
  expect(reportKey('demo', 'demo-1', START.toISOString())).toBe('demo/2026/03/02/demo-1');
});
