/** What counts of a rack's parameters, and where it comes from. */
import { describe, expect, it } from 'vitest';
import { effectiveParameters, type Effective } from '../../cli/effective.ts';
import { parameters } from '../../rollout/parameters.ts';
import { parameter } from '../rollout/given.ts';

const on = { karpenter_enabled: 'true', build_node_enabled: 'true' };

function of(values: Record<string, string>, key: string): Pick<Effective, 'effective' | 'from'> | undefined {
  const stored = Object.entries(values).map(([name, value]) => parameter(name, value));
  const found = effectiveParameters(stored).find((each) => each.key === key);
  return found && { effective: found.effective, from: found.from };
}

describe('a build parameter', () => {
  const key = 'karpenter_build_imds_hop_limit';

  it.each<[string, Record<string, string>, string | null, string]>([
    ['is its own', { ...on, [key]: '1', imds_http_hop_limit: '3' }, '1', 'stored'],
    ['that is not set inherits', { ...on, imds_http_hop_limit: '3' }, '3', 'imds_http_hop_limit'],
    ['that is 0 inherits', { ...on, [key]: '0', imds_http_hop_limit: '3' }, '3', 'imds_http_hop_limit'],
    [
      'that the release ignores inherits',
      { ...on, [key]: '1', imds_http_hop_limit: '3', release: '3.24.9' },
      '3',
      'imds_http_hop_limit',
    ],
    ['with nothing to inherit is nobody’s', { ...on, imds_http_tokens: 'required' }, null, 'nobody'],
    ['is inert while Karpenter is off', { build_node_enabled: 'true', [key]: '1' }, null, 'inert'],
    ['is refused with every other value', { ...on, [key]: '1', imds_http_tokens: 'on' }, null, 'refused'],
  ])('%s', (_, values, effective, from) => {
    expect(of(values, key)).toEqual({ effective, from });
  });
});

it.each<[string, Record<string, string>, string | null, string]>([
  ['imds_http_tokens', { ...on, imds_http_tokens: 'optional' }, 'optional', 'stored'],
  [
    'imds_http_tokens',
    { ...on, imds_http_tokens: 'optional', karpenter_build_imds_tokens: 'required' },
    'optional',
    'stored',
  ],
  ['imds_http_tokens', { ...on, karpenter_build_imds_tokens: 'required' }, null, 'nobody'],
  ['imds_rollout_strategy', on, 'graceful', 'default'],
  ['imds_rollout_strategy', { ...on, imds_rollout_strategy: 'immediate' }, 'immediate', 'stored'],
  ['karpenter_enabled', {}, 'false', 'default'],
  ['imds_rollout_windw', { ...on, imds_rollout_windw: 'x', imds_http_tokens: 'required' }, null, 'refused'],
  ['node_type', { ...on, node_type: 'm7g.large' }, null, 'unread'],
])('%s of %j', (key, values, effective, from) => {
  expect(of(values, key)).toEqual({ effective, from });
});

it('lists every parameter once, and those of a group alone where it is asked', () => {
  const all = effectiveParameters([parameter('imds_http_tokens', 'required'), parameter('node_type', 'any')]);
  expect(all.map(({ key }) => key)).toEqual([...Object.keys(parameters), 'node_type']);
  const security = effectiveParameters([parameter('node_type', 'any')], 'security');
  expect(security.map(({ key }) => key)).toEqual([
    'imds_http_tokens',
    'imds_http_hop_limit',
    'karpenter_build_imds_tokens',
    'karpenter_build_imds_hop_limit',
  ]);
});
