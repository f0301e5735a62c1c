/** Which build groups are named, and when. */
import { expect, it } from 'vitest';
import { decide } from '../../rollout/desired.ts';
import { parametersOf } from './given.ts';

const groups = JSON.stringify([
  { id: 101, type: 'c5.2xlarge', label: 'app-build' },
  { id: 102, type: 'c5.4xlarge' },
  { type: 'm5.large' },
  {},
]);
const KEY = 'additional_build_groups_config';

function notices(values: Record<string, string>): string[] {
  const decision = decide(parametersOf(values), false);
  return decision.kind === 'asks' ? decision.notices : [decision.kind];
}

it.each([groups, Buffer.from(groups).toString('base64')])('names each as far as it has a name', (value) => {
  expect(notices({ karpenter_build_imds_tokens: 'required', [KEY]: value })).toEqual([
    `build groups app-build, 102, m5.large, no. 4 of ${KEY} keep the rack-wide IMDS options, and a Build may land there`,
  ]);
});

it('says so where the list cannot be read, and refuses nothing for it', () => {
  expect(notices({ karpenter_build_imds_hop_limit: '1', [KEY]: 'build-groups.json' })).toEqual([
    `the build groups of ${KEY}, which cannot be read, keep the rack-wide IMDS options, and a Build may land there`,
  ]);
});

it.each([
  ['nothing is overridden', { imds_http_tokens: 'required', [KEY]: groups }],
  ['the override inherits', { karpenter_build_imds_hop_limit: '0', imds_http_hop_limit: '2', [KEY]: groups }],
  ['there are none', { karpenter_build_imds_tokens: 'required', [KEY]: '[]' }],
  ['none are configured', { karpenter_build_imds_tokens: 'required' }],
])('says nothing where %s', (_, values) => {
  expect(notices(values)).toEqual([]);
});
