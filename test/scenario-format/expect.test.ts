import { describe, expect, it } from 'vitest';
import { differences } from '../../simulator/scenario/expect.ts';

const result = {
  outcome: 'Succeeded',
  reason: 'all done',
  buildsLost: 0,
  held: [{ node: 'a', cordoned: true }],
  violations: [],
  builds: [
    { name: 'b-1', outcome: 'finished', node: 'a' },
    { name: 'b-2', outcome: 'evicted', node: 'b' },
  ],
  rollouts: [
    { execution: 'x-1', outcome: 'Superseded' },
    { execution: 'x-2', outcome: 'Succeeded' },
  ],
  classes: { build: { owners: { httpTokens: ['terraform', 'imds-rollout'] } } },
};

describe('an expectation', () => {
  it.each([
    {},
    { outcome: 'Succeeded', buildsLost: 0 },
    { violations: [] },
    { held: ['a'] },
    { builds: ['b-2', 'b-1'] },
    { builds: [{ name: 'b-2', outcome: 'evicted' }] },
    { rollouts: [{ outcome: 'Succeeded' }] },
    { classes: { build: { owners: { httpTokens: ['imds-rollout', 'terraform'] } } } },
  ])('holds: %j', (expected) => {
    expect(differences(expected, result)).toEqual([]);
  });

  it.each([
    [{ outcome: 'Failed' }, 'outcome: expected "Failed", got "Succeeded"'],
    [{ outcome: null }, 'outcome: expected null, got "Succeeded"'],
    [{ buildsLost: '0' }, 'buildsLost: expected "0", got 0'],
    [{ held: [] }, 'held: expected none, got ["a"]'],
    [{ held: ['a', 'b'] }, 'held: missing "b"'],
    [{ builds: ['b-1'] }, 'builds: unexpected "b-2"'],
    [
      { builds: [{ name: 'b-2', outcome: 'finished' }] },
      'builds[b-2].outcome: expected "finished", got "evicted"',
    ],
    [{ builds: [{ name: 'b-3' }] }, 'builds: none of 2 is like {"name":"b-3"}'],
    [
      { rollouts: [{ outcome: 'Succeeded' }, { outcome: 'Succeeded' }] },
      'rollouts: none of 2 is like {"outcome":"Succeeded"}',
    ],
    [
      { classes: { build: { owners: { httpTokens: ['helm', 'terraform'] } } } },
      'classes.build.owners.httpTokens: missing "helm"',
    ],
    [{ classes: { other: { a: 1 } } }, 'classes.other: expected {"a":1}, got nothing'],
  ])('does not hold: %j', (expected, difference) => {
    expect(differences(expected, result)).toContain(difference);
  });
});
