/** Why a node goes, by what its NodeClaim, its node and Karpenter's Events say. */
import { describe, expect, it } from 'vitest';
import { departuresOf, instancesOf } from '../../rollout/fates.ts';
import type { BuildNode } from '../../rollout/fleet.ts';
import type { Entry, Plan } from '../../rollout/journal.ts';
import type { Event, NodeClaim } from '../../rollout/kubernetes.ts';
import { expiryOf, leavingOf } from '../../rollout/leaving.ts';
import { buildNode, condition, instant, meta } from './given.ts';

const HOUR = 3600;

function leaving(change: (claim: NodeClaim) => Partial<NodeClaim> = () => ({}), ready = true): BuildNode {
  const node = buildNode('a');
  if (node.claim === undefined || node.node === undefined) throw new Error('a build node has both');
  const claim: NodeClaim = {
    ...node.claim,
    metadata: { ...node.claim.metadata, creationTimestamp: instant(0), deletionTimestamp: instant(HOUR) },
  };
  const conditions = [condition('Ready', ready ? 'True' : 'Unknown', { lastTransitionTime: instant(600) })];
  return {
    ...node,
    claim: { ...claim, ...change(claim) },
    node: { ...node.node, status: { ...node.node.status, conditions } },
  };
}

const said = (reason: string, message = reason): Event => ({
  kind: 'Event',
  metadata: meta(reason),
  type: 'Warning',
  reason,
  message,
  involvedObject: { kind: 'Node', name: 'a' },
  lastTimestamp: instant(HOUR),
});

const disrupted = (claim: NodeClaim): Partial<NodeClaim> => ({
  status: { ...claim.status, conditions: [condition('DisruptionReason', 'True', { reason: 'Drifted' })] },
});
const terminatedAt =
  (seconds: number) =>
  (claim: NodeClaim): Partial<NodeClaim> => ({
    metadata: {
      ...claim.metadata,
      annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': instant(seconds) },
    },
  });
const lives =
  (expireAfter: string) =>
  (claim: NodeClaim): Partial<NodeClaim> => ({
    spec: { ...claim.spec, expireAfter },
  });

describe('a node goes', () => {
  it.each<[string, BuildNode, Event[]]>([
    ['disrupted', leaving(disrupted), []],
    ['disrupted', leaving(), [said('DisruptionTerminating', 'Disrupting Node: Drifted')]],
    ['interrupted', leaving(), [said('SpotInterrupted')]],
    // A command of Karpenter's was under way when EC2 took the instance.
    ['interrupted', leaving(disrupted), [said('TerminatingOnInterruption')]],
    // That an instance terminates is told of Karpenter's own terminations too.
    ['deleted', leaving(), [said('InstanceTerminating')]],
    ['expired', leaving(lives('1h')), []],
    ['deleted', leaving(lives('1h30m')), []],
    ['deleted', leaving(lives('Never')), []],
    ['repaired', leaving(terminatedAt(HOUR), false), []],
    // A terminationGracePeriod, and a node that is well.
    ['deleted', leaving(terminatedAt(HOUR + 300), false), []],
    ['deleted', leaving(terminatedAt(HOUR)), []],
  ])('%s', (cause, node, events) => {
    expect(leavingOf(node, events)?.cause).toBe(cause);
  });

  it('or does not, while its NodeClaim is not being deleted', () => {
    expect(leavingOf(buildNode('a'), [said('SpotInterrupted')])).toBeUndefined();
  });
});

it.each([
  ['720h', 720 * HOUR],
  ['1h30m', 5400],
  ['90s', 90],
])('expires %s after it was made', (expireAfter, seconds) => {
  const { claim } = leaving(lives(expireAfter));
  expect(claim && expiryOf(claim)?.toISOString()).toBe(instant(seconds));
});

describe('a node that went between two looks', () => {
  const planned = (more: Partial<Plan['nodes'][number]> = {}): Plan => ({
    class: { name: 'build', uid: 'u', before: {}, resourceVersion: '1' },
    target: {},
    restoring: [],
    looser: [],
    owners: {},
    notices: [],
    nodes: [
      { node: 'a', instanceId: 'i-1', before: null, verdict: 'wrong', builds: [], fate: 'replaced', ...more },
    ],
    blockers: [],
  });
  const fleet = { nodes: [] } as unknown as Parameters<typeof instancesOf>[0]['fleet'];
  const how = (entries: Entry[], plan = planned()): string | undefined =>
    instancesOf({ entries, readAt: instant(HOUR), ...(fleet && { fleet }) }, {}, plan)[0]?.how;

  it.each<[string, Entry[], Plan?]>([
    ['deleted', []],
    ['expired', [], planned({ expiresAt: instant(600) })],
    ['deleted', [], planned({ expiresAt: instant(2 * HOUR) })],
    ['repaired', [{ what: 'unready', at: instant(60), node: 'a' }]],
    ['unknown', [], planned({ node: 'i-1' })],
  ])('is told to be %s', (word, entries, plan) => {
    expect(how(entries, plan)).toBe(word);
  });

  it('has gone by what counts most of what was said', () => {
    const left = (cause: 'deleted' | 'disrupted' | 'interrupted'): Entry => ({
      what: 'left',
      at: instant(60),
      node: 'a',
      cause,
      why: cause,
      builds: [],
    });
    expect(departuresOf([left('deleted'), left('disrupted')]).get('a')?.cause).toBe('disrupted');
    expect(how([left('disrupted'), left('interrupted')])).toBe('interrupted');
    expect(how([left('disrupted')])).toBe('replaced');
  });
});
