/** What a look tells of what happened since the last one, by the cluster's own clock. */
import { expect, it } from 'vitest';
import { clusterTimeOf, happenings } from '../../rollout/happenings.ts';
import type { Event } from '../../rollout/kubernetes.ts';
import { fleetOf, instant, meta } from './given.ts';

const said = (reason: string, name: string, createdAt: number, lastAt = createdAt): Event => ({
  kind: 'Event',
  metadata: { ...meta(`${name}-${reason}`), creationTimestamp: instant(createdAt) },
  type: 'Normal',
  reason,
  message: reason,
  involvedObject: { kind: 'Node', name },
  lastTimestamp: instant(lastAt),
});

it('an Event of somebody whose clock is ahead hides nothing that comes after it', () => {
  const ahead = said('Rebooted', 'b', 60, 700);
  const clusterTime = clusterTimeOf(fleetOf([]), [ahead]) ?? '';
  expect(clusterTime).toBe(instant(60));
  const later = [ahead, said('DisruptionTerminating', 'a', 70)];
  expect(happenings({ wholeLookAt: instant(0), clusterTime }, fleetOf([]), later)).toMatchObject([
    { what: 'left', node: 'a', cause: 'disrupted' },
  ]);
});

it('an Event that Karpenter repeats is of when it came about last', () => {
  const repeated: Event = { ...said('DisruptionBlocked', 'b', 60, 700), source: { component: 'karpenter' } };
  expect(clusterTimeOf(fleetOf([]), [repeated])).toBe(instant(700));
});
