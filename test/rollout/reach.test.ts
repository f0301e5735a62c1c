/** Who reaches IMDS: every cell of the table, and what a change is to somebody. */
import { describe, expect, it } from 'vitest';
import {
  CALLERS,
  changeOf,
  HOPS,
  reachOf,
  reachTable,
  VERSIONS,
  type Caller,
  type Reach,
  type Version,
} from '../../rollout/reach.ts';

describe('a caller', () => {
  it.each<[Caller, Reach, Reach, Reach]>([
    ['host process', 'yes', 'yes', 'yes'],
    ['hostNetwork pod', 'yes', 'yes', 'yes'],
    ['pod', 'timesOut', 'yes', 'yes'],
    ['nested container', 'timesOut', 'timesOut', 'yes'],
  ])('%s gets a token at a limit of 1, 2, 3: %s, %s, %s', (caller, ...expected) => {
    for (const httpTokens of ['optional', 'required'] as const) {
      expect(
        [1, 2, 3].map((httpPutResponseHopLimit) =>
          reachOf(caller, 'IMDSv2', { httpTokens, httpPutResponseHopLimit }),
        ),
      ).toEqual(expected);
    }
  });

  it.each(CALLERS)('%s needs no token while tokens are optional, whatever the limit', (caller) => {
    for (const httpPutResponseHopLimit of [1, 2, 3, 64]) {
      expect(reachOf(caller, 'IMDSv1', { httpTokens: 'optional', httpPutResponseHopLimit })).toBe('yes');
      expect(reachOf(caller, 'IMDSv1', { httpTokens: 'required', httpPutResponseHopLimit })).toBe('refused');
    }
  });

  it('reaches nothing where the endpoint is disabled', () => {
    for (const caller of CALLERS) {
      for (const version of VERSIONS) {
        const options = { httpTokens: 'optional', httpPutResponseHopLimit: 64 } as const;
        expect(reachOf(caller, version, { ...options, httpEndpoint: 'disabled' })).toBe('off');
      }
    }
  });
});

it('is as many hops away as there are network namespaces on the way', () => {
  expect(CALLERS.map((caller) => HOPS[caller])).toEqual([1, 1, 2, 3]);
});

it('has a row for each caller and version', () => {
  const rows = reachTable(
    { httpTokens: 'required', httpPutResponseHopLimit: 1 },
    { httpTokens: 'required', httpPutResponseHopLimit: 2 },
  );
  expect(rows).toHaveLength(8);
  expect(rows.filter(({ before, after }) => before !== after)).toEqual([
    { caller: 'pod', version: 'IMDSv2', before: 'timesOut', after: 'yes' },
  ]);
});

describe('a change', () => {
  it.each<[Version[], Version[], string]>([
    [[], ['IMDSv2'], 'gains'],
    [['IMDSv1', 'IMDSv2'], [], 'loses'],
    [['IMDSv1'], ['IMDSv1', 'IMDSv2'], 'widens'],
    [['IMDSv1', 'IMDSv2'], ['IMDSv2'], 'narrows'],
    [['IMDSv1'], ['IMDSv2'], 'swaps'],
    [['IMDSv2'], ['IMDSv2'], 'keeps'],
    [[], [], 'has none'],
  ])('from %j to %j is called: %s', (before, after, expected) => {
    expect(changeOf(before, after)).toBe(expected);
  });
});
