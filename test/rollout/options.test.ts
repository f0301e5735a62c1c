/** Right, wrong, unknown, off. */
import { describe, expect, it } from 'vitest';
import type { Instance, MetadataOptions } from '../../rollout/ec2.ts';
import {
  classOptions,
  inWords,
  judge,
  mismatches,
  owned,
  pick,
  type Verdict,
} from '../../rollout/options.ts';
import type { Options } from '../../rollout/record.ts';
import { metadataOptions, nodeClass, START } from './given.ts';

const instance = (options?: Partial<MetadataOptions>): Instance => ({
  instanceId: 'i-1',
  state: 'running',
  launchTime: START.toISOString(),
  ...(options && { metadataOptions: metadataOptions(options) }),
  tags: {},
});

const BOTH: Options = { httpTokens: 'required', httpPutResponseHopLimit: 1 };

it.each<[string, Options, Instance | undefined, Verdict]>([
  ['both as desired and applied', BOTH, instance({}), 'right'],
  ['tokens not as desired', BOTH, instance({ httpTokens: 'optional' }), 'wrong'],
  ['only the limit not as desired', BOTH, instance({ httpPutResponseHopLimit: 2 }), 'wrong'],
  [
    'a stricter limit is not the desired one',
    { httpPutResponseHopLimit: 2 },
    instance({ httpPutResponseHopLimit: 1 }),
    'wrong',
  ],
  ['stricter tokens are not the desired ones', { httpTokens: 'optional' }, instance({}), 'wrong'],
  ['pending', BOTH, instance({ state: 'pending' }), 'wrong'],
  [
    'not owned, so of no matter',
    { httpTokens: 'required' },
    instance({ httpPutResponseHopLimit: 64 }),
    'right',
  ],
  ['EC2 said no options', BOTH, instance(), 'unknown'],
  ['EC2 said nothing', BOTH, undefined, 'unknown'],
  ['endpoint off', BOTH, instance({ httpEndpoint: 'disabled', httpTokens: 'optional' }), 'off'],
  ['endpoint off, and pending', BOTH, instance({ httpEndpoint: 'disabled', state: 'pending' }), 'off'],
])('an instance: %s', (_, target, given, verdict) => {
  expect(judge(target, given)).toBe(verdict);
});

describe('a class', () => {
  it.each<[Options, Options]>([
    [{}, { httpTokens: 'required', httpPutResponseHopLimit: 1 }],
    [{ httpTokens: 'optional' }, { httpTokens: 'optional', httpPutResponseHopLimit: 1 }],
    [{ httpPutResponseHopLimit: 3 }, { httpTokens: 'required', httpPutResponseHopLimit: 3 }],
  ])('that says %j says %j, by the defaults of its CRD', (says, expected) => {
    const given = nodeClass();
    expect(classOptions({ ...given, spec: { metadataOptions: says } })).toEqual(expected);
  });

  it('without metadataOptions says the defaults', () => {
    expect(classOptions({ ...nodeClass(), spec: {} })).toEqual({
      httpTokens: 'required',
      httpPutResponseHopLimit: 1,
    });
  });
});

it('compares, picks and says only what is owned', () => {
  expect(owned({ httpPutResponseHopLimit: 1 })).toEqual(['httpPutResponseHopLimit']);
  expect(
    mismatches({ httpTokens: 'required' }, { httpTokens: 'optional', httpPutResponseHopLimit: 9 }),
  ).toEqual(['httpTokens']);
  expect(mismatches(BOTH, {})).toEqual(['httpTokens', 'httpPutResponseHopLimit']);
  expect(pick({ httpTokens: 'required' }, ['httpTokens', 'httpPutResponseHopLimit'])).toEqual({
    httpTokens: 'required',
  });
  expect(inWords(BOTH)).toBe('httpTokens=required, httpPutResponseHopLimit=1');
  expect(inWords({})).toBe('nothing');
});
