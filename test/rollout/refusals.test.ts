/** Values that are refused, with name, value, what is accepted and the nearest; and the policy's values and bounds. */
import { describe, expect, it } from 'vitest';
import { decide, type Decision, type Policy } from '../../rollout/desired.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { parameter, parametersOf } from './given.ts';

const decided = (values: Record<string, string | undefined>): Decision => decide(parametersOf(values), false);

function refusals(list: readonly StoredParameter[]): string[] {
  const decision = decide(list, false);
  return decision.kind === 'refused' ? decision.refusals : [];
}

describe('refused values', () => {
  const tokens = ['karpenter_build_imds_tokens', 'imds_http_tokens'] as const;

  it.each(
    tokens.flatMap((key) =>
      (
        [
          ['Required', 'required'],
          [' required', 'required'],
          ['required ', 'required'],
          ['required\n', 'required'],
          ['REQUIRED', 'required'],
          ['"required"', 'required'],
          ['Optional', 'optional'],
          ['optionl', 'optional'],
          ['requird', 'required'],
        ] as const
      ).map(([value, nearest]) => [key, value, nearest] as const),
    ),
  )('%s %j is refused, and %s is near', (key, value, nearest) => {
    const text = refusals(parametersOf({ [key]: value }));
    expect(text).toEqual([
      `${key} is ${JSON.stringify(value)}; accepted is \`optional\` or \`required\`; did you mean \`${nearest}\`?`,
    ]);
  });

  it.each(
    tokens.flatMap((key) => ['', 'enabled', 'v2', 'true', 'none'].map((value) => [key, value] as const)),
  )('%s %j is refused, and nothing is near', (key, value) => {
    expect(refusals(parametersOf({ [key]: value }))).toEqual([
      `${key} is ${JSON.stringify(value)}; accepted is \`optional\` or \`required\``,
    ]);
  });

  it.each<[string, string, string | undefined]>([
    ['imds_http_hop_limit', '0', '1'],
    ['imds_http_hop_limit', '-1', '1'],
    ['karpenter_build_imds_hop_limit', '-1', '0'],
    ...['imds_http_hop_limit', 'karpenter_build_imds_hop_limit'].flatMap(
      (key): [string, string, string | undefined][] => [
        [key, '01', '1'],
        [key, '007', '7'],
        [key, '+1', '1'],
        [key, '1.0', '1'],
        [key, '2.4', '2'],
        [key, '65', '64'],
        [key, '1000000', '64'],
        [key, ' 3', '3'],
        [key, '3\n', '3'],
        [key, '"3"', '3'],
        [key, '1e1', '10'],
        [key, '', undefined],
        [key, 'three', undefined],
        [key, '１', undefined],
      ],
    ),
  ])('%s %j is refused, and %s is near', (key, value, nearest) => {
    const [text = '', ...more] = refusals(parametersOf({ [key]: value }));
    expect(more).toEqual([]);
    expect(text).toContain(`${key} is ${JSON.stringify(value)}; accepted is a whole number from`);
    expect(/did you mean `(.*)`/.exec(text)?.[1]).toBe(nearest);
  });

  it.each([
    ['imds_http_hop_limit', ['1', '64']],
    ['karpenter_build_imds_hop_limit', ['0', '1', '64']],
  ])('%s accepts its bounds', (key, values) => {
    for (const value of values) expect(refusals(parametersOf({ [key]: value }))).toEqual([]);
  });

  it.each(['StringList', 'SecureString'] as const)('type %s is refused, whatever the value', (type) => {
    const list = [...parametersOf({}), parameter('karpenter_build_imds_tokens', 'required', type)];
    expect(refusals(list)).toEqual([
      `karpenter_build_imds_tokens is of type ${type}; accepted is a String with \`optional\` or \`required\``,
    ]);
    const policy = [
      ...parametersOf({ imds_http_tokens: 'required' }),
      parameter('imds_rollout_deadline', '60m', type),
    ];
    expect(refusals(policy)).toHaveLength(1);
  });

  it('a refused build value uses nothing of what it would have inherited', () => {
    expect(refusals(parametersOf({ karpenter_build_imds_tokens: 'bad', imds_http_tokens: 'worse' }))).toEqual(
      [expect.stringContaining('karpenter_build_imds_tokens is "bad"')],
    );
  });

  it('one bad used value refuses the whole rack, and every one of them is named', () => {
    const text = refusals(
      parametersOf({ imds_http_tokens: 'no', imds_http_hop_limit: '99', imds_rollout_stragglers: 'kill' }),
    );
    expect(text.map((each) => each.split(' ')[0])).toEqual([
      'imds_http_tokens',
      'imds_http_hop_limit',
      'imds_rollout_stragglers',
    ]);
    expect(decided({ imds_http_tokens: 'required', imds_http_hop_limit: '99' })).toMatchObject({
      kind: 'refused',
    });
  });
});

describe('policy', () => {
  const policyOf = (values: Record<string, string>): Policy | string[] => {
    const decision = decided({ imds_http_tokens: 'required', ...values });
    return decision.kind === 'asks' ? decision.policy : decision.kind === 'refused' ? decision.refusals : [];
  };

  it('has the documented defaults', () => {
    expect(policyOf({})).toEqual({
      strategy: 'graceful',
      deadline: 3600,
      stragglers: 'modify',
      drainTimeout: 43_200,
      classWriter: 'service',
      approval: 'loosening',
    });
  });

  it.each<[string, string, Partial<Policy>]>([
    ['imds_rollout_strategy', 'karpenter', { strategy: 'karpenter' }],
    ['imds_rollout_strategy', 'immediate', { strategy: 'immediate' }],
    ['imds_rollout_deadline', '1m', { deadline: 60 }],
    ['imds_rollout_deadline', '60s', { deadline: 60 }],
    ['imds_rollout_deadline', '24h', { deadline: 86_400 }],
    ['imds_rollout_deadline', '1d', { deadline: 86_400 }],
    ['imds_rollout_stragglers', 'wait', { stragglers: 'wait' }],
    ['imds_rollout_stragglers', 'fail', { stragglers: 'fail' }],
    ['imds_rollout_drain_timeout', '0', { drainTimeout: 0 }],
    ['imds_rollout_drain_timeout', '0m', { drainTimeout: 0 }],
    ['imds_rollout_drain_timeout', '48h', { drainTimeout: 172_800 }],
    ['imds_rollout_build_selector', 'service=build', { buildSelector: 'service=build' }],
    ['imds_rollout_class_writer', 'external', { classWriter: 'external' }],
    ['imds_rollout_approval', 'never', { approval: 'never' }],
    ['imds_rollout_approval', 'always', { approval: 'always' }],
    ['imds_rollout_canary', '1', { canary: { size: { number: 1, unit: 'nodes' }, bake: 600 } }],
    ['imds_rollout_canary', '1%', { canary: { size: { number: 1, unit: 'percent' }, bake: 600 } }],
    ['imds_rollout_canary', '100%', { canary: { size: { number: 100, unit: 'percent' }, bake: 600 } }],
  ])('%s accepts %s', (key, value, expected) => {
    expect(policyOf({ [key]: value })).toMatchObject(expected);
  });

  it.each<[string, string, string | undefined]>([
    ['imds_rollout_strategy', 'Graceful', 'graceful'],
    ['imds_rollout_strategy', 'fast', undefined],
    ['imds_rollout_deadline', '59s', '1m'],
    ['imds_rollout_deadline', '0', '1m'],
    ['imds_rollout_deadline', '25h', '24h'],
    ['imds_rollout_deadline', '2d', '24h'],
    ['imds_rollout_deadline', '60', '60m'],
    ['imds_rollout_deadline', '60M', '60m'],
    ['imds_rollout_deadline', ' 60m', '60m'],
    ['imds_rollout_deadline', '060m', undefined],
    ['imds_rollout_deadline', '1h30m', '90m'],
    ['imds_rollout_deadline', '30h30m', undefined],
    ['imds_rollout_deadline', '5min', '5m'],
    ['imds_rollout_deadline', '2 hours', '2h'],
    ['imds_rollout_deadline', '5mX', undefined],
    ['imds_rollout_deadline', '', undefined],
    ['imds_rollout_drain_timeout', '49h', '48h'],
    ['imds_rollout_drain_timeout', '-1h', undefined],
    ['imds_rollout_stragglers', 'Modify', 'modify'],
    ['imds_rollout_stragglers', 'fails', 'fail'],
    ['imds_rollout_build_selector', 'a b', undefined],
    ['imds_rollout_canary', '0', '1'],
    ['imds_rollout_canary', '-1', '1'],
    ['imds_rollout_canary', '1.5', '2'],
    ['imds_rollout_canary', '0%', '1%'],
    ['imds_rollout_canary', '101%', '100%'],
    ['imds_rollout_canary', ' 10%', '10%'],
    ['imds_rollout_canary', '10 %', '10%'],
    ['imds_rollout_canary', '%', undefined],
    ['imds_rollout_canary', 'none', undefined],
    ['imds_rollout_class_writer', 'terraform', undefined],
    ['imds_rollout_approval', 'yes', undefined],
  ])('%s refuses %j, and %s is near', (key, value, nearest) => {
    const [text = '', ...more] = policyOf({ [key]: value }) as string[];
    expect(more).toEqual([]);
    expect(text).toContain(`${key} is ${JSON.stringify(value)}; accepted is `);
    expect(/did you mean `(.*)`/.exec(text)?.[1]).toBe(nearest);
  });
});

describe('the bake of a canary', () => {
  const asked = (values: Record<string, string>) => decided({ imds_http_tokens: 'required', ...values });

  it('is read with a canary', () => {
    expect(asked({ imds_rollout_canary: '2', imds_rollout_bake: '24h' })).toMatchObject({
      policy: { canary: { bake: 86_400 } },
    });
    expect(
      refusals(
        parametersOf({ imds_http_tokens: 'required', imds_rollout_canary: '2', imds_rollout_bake: '30s' }),
      ),
    ).toEqual([expect.stringMatching(/^imds_rollout_bake is "30s".*did you mean `1m`\?$/) as string]);
  });

  it('is not read without one', () => {
    const decision = asked({ imds_rollout_bake: 'long' });
    expect(decision).toMatchObject({ kind: 'asks' });
    expect(decision.kind === 'asks' && 'canary' in decision.policy).toBe(false);
  });

  it('is refused where somebody else writes the class', () => {
    expect(
      refusals(
        parametersOf({
          imds_http_tokens: 'required',
          imds_rollout_canary: '10%',
          imds_rollout_class_writer: 'external',
        }),
      ),
    ).toEqual([
      expect.stringMatching(
        /^imds_rollout_canary is 10% and imds_rollout_class_writer is external/,
      ) as string,
    ]);
  });
});

describe('a policy that this release does not know', () => {
  it.each([
    ['imds_rollout_window', '0 22 * * * 6h', '.'],
    ['imds_rollout_canaries', '10%', ', did you mean imds_rollout_canary?'],
    ['imds_rollout_deadlin', '60m', ', did you mean imds_rollout_deadline?'],
    ['imds_rollout_Deadline', '60m', ', did you mean imds_rollout_deadline?'],
  ])('%s is refused and never passed over', (key, value, meant) => {
    expect(refusals(parametersOf({ imds_http_tokens: 'required', [key]: value }))).toEqual([
      `${key} is ${JSON.stringify(value)}; this release knows no such policy${meant} Unset it`,
    ]);
  });

  it('refuses nothing where nothing is asked', () => {
    expect(decided({ imds_rollout_window: 'x' })).toMatchObject({ kind: 'asksNothing' });
    expect(
      decided({ imds_rollout_window: 'x', imds_http_tokens: 'required', karpenter_enabled: 'false' }),
    ).toMatchObject({
      kind: 'inert',
    });
  });
});
