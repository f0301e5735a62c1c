/** What a node that is to be replaced waits for, by name. */
import { expect, it } from 'vitest';
import { waitsFor } from '../../rollout/blockers.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import { at, build, buildNode } from './given.ts';

const annotated = (value: string): string => {
  const pod = build('cache', { node: 'a', meta: { annotations: { [DO_NOT_DISRUPT]: value } } });
  return waitsFor(buildNode('a', { pods: [pod] }), { events: [], budgets: [] }, at(0));
};

it.each(['true', '30m', '1h30m'])('is a pod that is not to be disrupted: %s', (value) => {
  expect(annotated(value)).toBe(`pod app/cache, which is annotated ${DO_NOT_DISRUPT}`);
});

it.each(['false', 'True', '', 'soon'])(
  'is no pod whose annotation says nothing to Karpenter: %j',
  (value) => {
    expect(annotated(value)).toBe('Karpenter, within its budgets');
  },
);
