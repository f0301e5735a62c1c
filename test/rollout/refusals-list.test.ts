/** The list of refusals: that each is told from every other by what it says. */
import { expect, it } from 'vitest';
import { refusals, refusalsIn, refuse, type RefusalName } from '../../rollout/refusals.ts';

const names = Object.keys(refusals) as RefusalName[];

it.each(names)('%s is found in what it says, and no other is', (name) => {
  const said = refusals[name].says.replaceAll(/\{(\w+)\}/g, 'x');
  expect(refusalsIn(said)).toEqual([name]);
});

it('finds every refusal that a reason is made of', () => {
  const said = [
    refuse('value', { key: 'imds_http_tokens', value: 'on\\n', accepted: '`optional` or `required`' }),
    refuse('type', {
      key: 'imds_http_hop_limit',
      type: 'StringList',
      accepted: 'a whole number from 1 to 64',
    }),
  ].join('; ');
  expect(refusalsIn(said)).toEqual(['value', 'type']);
  expect(refusalsIn('still wrong at the deadline: busy')).toEqual([]);
});

it('fills every blank', () => {
  expect(refuse('notRegistered', { rack: 'demo' })).toBe(
    'rack demo is not registered: run `imds-rollout rack add demo --cluster <cluster>`',
  );
});
