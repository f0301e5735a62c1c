/** What the parameters ask for: design, section 3, and the documents of karpenter_build_imds_tokens and its pair. */
import { describe, expect, it } from 'vitest';
import { decide, type Decision } from '../../rollout/desired.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Options } from '../../rollout/record.ts';
import { parametersOf } from './given.ts';

const decided = (values: Record<string, string | undefined>, owns = false): Decision =>
  decide(parametersOf(values), owns);

function asked(values: Record<string, string | undefined>): Options {
  const decision = decided(values, true);
  if (decision.kind !== 'asks') throw new Error(`${decision.kind}: ${JSON.stringify(decision)}`);
  return decision.ask;
}

function refusals(list: readonly StoredParameter[], owns = false): string[] {
  const decision = decide(list, owns);
  return decision.kind === 'refused' ? decision.refusals : [];
}

describe('inheritance, each option on its own', () => {
  it.each<[string, Record<string, string>, Options]>([
    ['nothing set', {}, {}],
    ['rack-wide tokens', { imds_http_tokens: 'required' }, { httpTokens: 'required' }],
    ['rack-wide limit', { imds_http_hop_limit: '3' }, { httpPutResponseHopLimit: 3 }],
    ['build tokens', { karpenter_build_imds_tokens: 'required' }, { httpTokens: 'required' }],
    ['build limit', { karpenter_build_imds_hop_limit: '1' }, { httpPutResponseHopLimit: 1 }],
    [
      'build tokens before rack-wide ones',
      { karpenter_build_imds_tokens: 'required', imds_http_tokens: 'optional' },
      { httpTokens: 'required' },
    ],
    [
      'build tokens that are looser than rack-wide ones',
      { karpenter_build_imds_tokens: 'optional', imds_http_tokens: 'required' },
      { httpTokens: 'optional' },
    ],
    [
      'build limit before the rack-wide one',
      { karpenter_build_imds_hop_limit: '1', imds_http_hop_limit: '3' },
      { httpPutResponseHopLimit: 1 },
    ],
    [
      'a build limit of 0 inherits',
      { karpenter_build_imds_hop_limit: '0', imds_http_hop_limit: '3' },
      { httpPutResponseHopLimit: 3 },
    ],
    ['a build limit of 0 with nothing to inherit', { karpenter_build_imds_hop_limit: '0' }, {}],
    [
      'one option built, the other inherited',
      { karpenter_build_imds_tokens: 'required', imds_http_tokens: 'optional', imds_http_hop_limit: '3' },
      { httpTokens: 'required', httpPutResponseHopLimit: 3 },
    ],
    [
      'one option inherited, the other built',
      { karpenter_build_imds_hop_limit: '64', imds_http_tokens: 'optional', imds_http_hop_limit: '3' },
      { httpTokens: 'optional', httpPutResponseHopLimit: 64 },
    ],
  ])('%s', (_, values, ask) => {
    expect(asked(values)).toEqual(ask);
  });

  it('says where each value comes from', () => {
    expect(
      decided({
        karpenter_build_imds_hop_limit: '0',
        imds_http_hop_limit: '3',
        karpenter_build_imds_tokens: 'required',
      }),
    ).toMatchObject({
      sources: { httpTokens: 'karpenter_build_imds_tokens', httpPutResponseHopLimit: 'imds_http_hop_limit' },
    });
  });

  it('asks for nothing where neither is set and nothing is owned, and gives back where something is', () => {
    expect(decided({})).toEqual({ kind: 'asksNothing', everAsked: false });
    expect(decided({}, true)).toMatchObject({ kind: 'asks', ask: {} });
  });

  it('has a rack that only says that it inherits ask for nothing, and be one that ever asked', () => {
    expect(decided({ karpenter_build_imds_hop_limit: '0' })).toEqual({
      kind: 'asksNothing',
      everAsked: true,
    });
  });
});

describe('while Karpenter or the build nodes are off', () => {
  const stored = { karpenter_build_imds_tokens: 'required' };

  it.each<[string, Record<string, string | undefined>]>([
    ['karpenter_enabled is not set', { karpenter_enabled: undefined }],
    ['build_node_enabled is not set', { build_node_enabled: undefined }],
    ['karpenter_enabled is false', { karpenter_enabled: 'false' }],
    ['build_node_enabled is false', { build_node_enabled: 'false' }],
    ['it is True', { karpenter_enabled: 'True' }],
    ['it is TRUE', { build_node_enabled: 'TRUE' }],
    ['it has a space', { karpenter_enabled: ' true' }],
    ['it has a newline', { build_node_enabled: 'true\n' }],
    ['it is 1', { karpenter_enabled: '1' }],
    ['both are off', { karpenter_enabled: 'false', build_node_enabled: 'false' }],
  ])('nothing is asked: %s', (_, switches) => {
    expect(decided({ ...stored, ...switches })).toMatchObject({ kind: 'inert', everAsked: true });
  });

  it('names what is off', () => {
    expect(decided({ build_node_enabled: undefined })).toMatchObject({
      why: 'build_node_enabled is not exactly "true"',
    });
    expect(decided({ karpenter_enabled: 'no', build_node_enabled: 'no' })).toMatchObject({
      why: 'karpenter_enabled and build_node_enabled are not exactly "true"',
    });
  });

  it('refuses nothing, however bad, and refuses from the moment that both are on', () => {
    const bad = { karpenter_build_imds_tokens: 'Required', imds_rollout_deadline: 'soon', release: 'x' };
    expect(decided({ ...bad, karpenter_enabled: 'false' })).toMatchObject({ kind: 'inert' });
    expect(decided({ ...bad })).toMatchObject({ kind: 'refused' });
  });
});

describe('a bad value that is not used refuses nothing', () => {
  it.each<[string, Record<string, string>, Options]>([
    [
      'a rack-wide value under a build one',
      { imds_http_tokens: 'bad', karpenter_build_imds_tokens: 'required' },
      { httpTokens: 'required' },
    ],
    [
      'a rack-wide limit under a build one',
      { imds_http_hop_limit: 'bad', karpenter_build_imds_hop_limit: '2' },
      { httpPutResponseHopLimit: 2 },
    ],
    [
      'a build value that an old release ignores',
      { karpenter_build_imds_tokens: 'bad', imds_http_tokens: 'optional', release: '3.24.9' },
      { httpTokens: 'optional' },
    ],
    [
      'a build value on another provider',
      { karpenter_build_imds_hop_limit: '65', imds_http_hop_limit: '3', provider: 'gcp' },
      { httpPutResponseHopLimit: 3 },
    ],
    [
      'a release while no build parameter is set',
      { imds_http_tokens: 'optional', release: 'garbage' },
      { httpTokens: 'optional' },
    ],
    [
      'a release of a rack on another provider',
      {
        karpenter_build_imds_tokens: 'required',
        imds_http_tokens: 'optional',
        release: 'garbage',
        provider: 'gcp',
      },
      { httpTokens: 'optional' },
    ],
    [
      'a parameter that nobody knows',
      { imds_http_tokens: 'optional', imds_http_tokenss: 'bad' },
      { httpTokens: 'optional' },
    ],
  ])('%s', (_, values, ask) => {
    expect(asked(values)).toEqual(ask);
  });

  it('a policy where nothing is asked', () => {
    expect(decided({ imds_rollout_deadline: 'soon' })).toMatchObject({ kind: 'asksNothing' });
    expect(decided({ imds_rollout_deadline: 'soon' }, true)).toMatchObject({ kind: 'refused' });
  });

  it('but a rack-wide value under a build limit of 0', () => {
    expect(decided({ imds_http_hop_limit: 'bad', karpenter_build_imds_hop_limit: '0' })).toMatchObject({
      kind: 'refused',
      refusals: [expect.stringContaining('imds_http_hop_limit is "bad"')],
    });
  });
});

describe('release and provider', () => {
  const build = { karpenter_build_imds_tokens: 'required', imds_http_tokens: 'optional' };

  it.each([
    [undefined, 'required'],
    ['3.24.10', 'required'],
    ['3.24.10-rc1', 'required'],
    ['3.24.10+abc', 'required'],
    ['3.24.11', 'required'],
    ['3.100.0', 'required'],
    ['3.25.0', 'required'],
    ['4.0.0', 'required'],
    ['10.0.0', 'required'],
    ['3.24.9', 'optional'],
    ['3.24.9-rc99', 'optional'],
    ['3.9.99', 'optional'],
    ['3.4.100', 'optional'],
    ['2.99.99', 'optional'],
    ['0.0.0', 'optional'],
  ])('release %s: %s', (release, httpTokens) => {
    expect(asked({ ...build, release })).toEqual({ httpTokens });
  });

  it.each(['garbage', '4.0', '3', '3.24', '3.24.x', 'v3.24.10', ' 3.24.10', '3.24.10 ', '3.24.10.1', ''])(
    'release %j is refused while a build parameter is set',
    (release) => {
      expect(refusals(parametersOf({ ...build, release }))).toEqual([
        `release is ${JSON.stringify(release)}; accepted is \`<major>.<minor>.<patch>\`, with or without a suffix`,
      ]);
    },
  );

  it.each([
    [undefined, 'required'],
    ['aws', 'required'],
    ['gcp', 'optional'],
    ['azure', 'optional'],
    ['AWS', 'optional'],
  ])('provider %s: %s', (provider, httpTokens) => {
    expect(asked({ ...build, provider })).toEqual({ httpTokens });
  });

  it('tells what it ignores and why', () => {
    const both = { ...build, karpenter_build_imds_hop_limit: '1' };
    expect(decided({ ...both, release: '3.24.9' })).toMatchObject({
      notices: [
        'karpenter_build_imds_tokens and karpenter_build_imds_hop_limit ignored: release 3.24.9 is below 3.24.10',
      ],
    });
    expect(decided({ ...build, provider: 'gcp' })).toMatchObject({
      notices: ['karpenter_build_imds_tokens ignored: provider is "gcp", not "aws"'],
    });
    expect(decided({ imds_http_tokens: 'optional', release: '1.0.0', provider: 'gcp' })).toMatchObject({
      notices: [],
    });
  });

  it('asks for nothing where only ignored parameters are set', () => {
    expect(decided({ karpenter_build_imds_tokens: 'required', release: '3.24.9' })).toEqual({
      kind: 'asksNothing',
      everAsked: true,
    });
  });
});

describe('what is stored', () => {
  it('is the same decision in any order, and a name from Object is no parameter', () => {
    const list = parametersOf({
      imds_http_tokens: 'required',
      imds_rollout_deadline: '2h',
      constructor: 'x',
      ['__proto__']: 'x',
    });
    expect(decide(list.toReversed(), false)).toEqual(decide(list, false));
    expect(decide(list, false)).toMatchObject({ kind: 'asks', ask: { httpTokens: 'required' } });
  });
});
