/** What a node that is to be replaced waits for, by name. */
import { describe, expect, it } from 'vitest';
import { waitsFor } from '../../rollout/blockers.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import type { Event } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import { at, build, buildNode, instant, meta } from './given.ts';

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

describe('what Karpenter says of it', () => {
  const drifted = (since: number): BuildNode => {
    const node = buildNode('a', { drifted: true });
    for (const each of node.claim?.status?.conditions ?? []) each.lastTransitionTime = instant(since);
    return node;
  };
  const said = (kind: string, name: string, message: string, seconds: number): Event => ({
    kind: 'Event',
    metadata: meta(`${name}.${seconds}`),
    type: 'Normal',
    reason: 'DisruptionBlocked',
    message,
    involvedObject: { kind, name },
    lastTimestamp: instant(seconds),
  });
  const blocked = (...events: Event[]): string => waitsFor(drifted(60), { events, budgets: [] }, at(120));

  const BUDGET = 'No allowed disruptions for disruption reason Drifted due to blocking budget';
  const UNREGISTERED = said('NodeClaim', 'claim-of-a', 'Nodeclaim does not have an associated node', 0);

  it('is believed, the newest first', () => {
    const [older, newer] = [said('Node', 'a', 'older', 70), said('NodeClaim', 'claim-of-a', 'newer', 80)];
    expect(blocked(newer, older)).toBe('Karpenter, which says: newer');
  });

  it('counts where it is said of the whole pool', () => {
    expect(blocked(said('NodePool', 'build', BUDGET, 90))).toBe(`Karpenter, which says: ${BUDGET}`);
  });

  it.each([
    ['of another pool', said('NodePool', 'other', BUDGET, 90)],
    ['of disruptions for another reason', said('NodePool', 'build', BUDGET.replace('Drifted', 'Empty'), 90)],
    ['before the node drifted, e.g. while it started', UNREGISTERED],
    ['of a pod on its way, which passes', said('Node', 'a', 'Node is nominated for a pending pod', 90)],
  ])('does not count where it was said %s', (_, event) => {
    expect(blocked(event)).toBe('Karpenter, within its budgets');
  });
});
