/** Who is a Build, which of them wait, and where they would fit. */
import { describe, expect, it } from 'vitest';
import {
  fitsNode,
  fitsPool,
  podName,
  selectorOf,
  tolerates,
  waitingBuilds,
  wouldBeBuild,
} from '../../rollout/builds.ts';
import type {
  Node,
  NodePool,
  NodeSelectorRequirement,
  Pod,
  Taint,
  Toleration,
} from '../../rollout/kubernetes.ts';
import { at, build, buildNode, condition, instant, meta, nodePool, START } from './given.ts';

const all = (): boolean => true;
const ownedBy = (kind: string): Pod =>
  build('b', { node: 'n', meta: { ownerReferences: [{ apiVersion: 'v1', kind, name: 'owner', uid: 'u' }] } });
const inPhase = (phase: NonNullable<Pod['status']>['phase']): Pod => ({
  ...build('b', { node: 'n' }),
  status: phase === undefined ? {} : { phase },
});

describe('a Build', () => {
  it.each<[string, Pod, boolean]>([
    ['a bare pod', build('b', { node: 'n' }), true],
    ['a bare pod without a status yet', inPhase(undefined), true],
    ['bound and not started', inPhase('Pending'), true],
    ['in phase Unknown', inPhase('Unknown'), true],
    ['Succeeded', inPhase('Succeeded'), false],
    ['Failed', inPhase('Failed'), false],
    ['of a Job', ownedBy('Job'), true],
    ['of a TaskRun (Tekton)', ownedBy('TaskRun'), true],
    ['of a Workflow (Argo)', ownedBy('Workflow'), true],
    ['of an EphemeralRunner (GitHub)', ownedBy('EphemeralRunner'), true],
    ['of a DaemonSet', ownedBy('DaemonSet'), false],
    ['of a ReplicaSet', ownedBy('ReplicaSet'), false],
    ['of a StatefulSet', ownedBy('StatefulSet'), false],
    ['of a ReplicationController', ownedBy('ReplicationController'), false],
    ['a mirror pod', build('b', { meta: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }), false],
    ['being deleted, within its grace', build('b', { meta: { deletionTimestamp: instant(30) } }), true],
    ['being deleted, just after its grace', build('b', { meta: { deletionTimestamp: instant(-60) } }), true],
    ['stuck terminating', build('b', { meta: { deletionTimestamp: instant(-61) } }), false],
  ])('%s: %s', (_, pod, expected) => {
    expect(wouldBeBuild(pod, all, START)).toBe(expected);
  });

  it('is one that the selector selects, by its labels', () => {
    const isSelected = selectorOf({ buildSelector: 'service in (build),!keep' });
    expect(wouldBeBuild(build('b'), isSelected, START)).toBe(true);
    expect(wouldBeBuild(build('b', { meta: { labels: { service: 'web' } } }), isSelected, START)).toBe(false);
    expect(
      wouldBeBuild(build('b', { meta: { labels: { service: 'build', keep: '' } } }), isSelected, START),
    ).toBe(false);
    const { labels: _, ...unlabelled } = build('b').metadata;
    expect(wouldBeBuild({ ...build('b'), metadata: unlabelled }, isSelected, START)).toBe(false);
    expect(wouldBeBuild({ ...build('b'), metadata: unlabelled }, selectorOf({}), START)).toBe(true);
  });

  it('is called by namespace and name', () => {
    expect(podName(build('b'))).toBe('app/b');
  });
});

describe('a waiting Build', () => {
  const waits = (pod: Pod, pool: NodePool = nodePool()): boolean => waitingBuilds([pod], pool).length === 1;

  it('is unbound, and found unschedulable', () => {
    expect(waits(build('b'))).toBe(true);
    expect(waits(build('b', { node: 'n' }))).toBe(false);
    expect(waits({ ...build('b'), status: { phase: 'Pending', conditions: [] } })).toBe(false);
    expect(waits({ ...build('b'), status: {} })).toBe(false);
    expect(
      waits({
        ...build('b'),
        status: { conditions: [condition('PodScheduled', 'False', { reason: 'SchedulingGated' })] },
      }),
    ).toBe(false);
    expect(waits(build('b', { meta: { deletionTimestamp: at(1).toISOString() } }))).toBe(false);
  });

  it('is one that the pool would take', () => {
    expect(waits(build('b', { spec: { tolerations: [] } }))).toBe(false);
    expect(waits(build('b', { spec: { nodeSelector: { 'convox-build': 'false' } } }))).toBe(false);
  });
});

describe('tolerations', () => {
  const taint = (more: Partial<Taint> = {}): Taint => ({
    key: 'dedicated',
    value: 'build',
    effect: 'NoSchedule',
    ...more,
  });
  const { value: _, ...valueless } = taint();

  it.each<[string, Toleration[], Taint[], boolean]>([
    ['nothing to tolerate', [], [], true],
    ['nothing tolerated', [], [taint()], false],
    [
      'the same',
      [{ key: 'dedicated', operator: 'Equal', value: 'build', effect: 'NoSchedule' }],
      [taint()],
      true,
    ],
    ['Equal is what is meant where nothing is said', [{ key: 'dedicated', value: 'build' }], [taint()], true],
    ['another value', [{ key: 'dedicated', value: 'web' }], [taint()], false],
    ['no value where there is one', [{ key: 'dedicated' }], [taint()], false],
    ['no value on either side', [{ key: 'dedicated' }], [valueless], true],
    ['another key', [{ key: 'other', operator: 'Exists' }], [taint()], false],
    ['Exists, whatever the value', [{ key: 'dedicated', operator: 'Exists' }], [taint()], true],
    ['another effect', [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute' }], [taint()], false],
    [
      'an empty effect is any',
      [{ key: 'dedicated', operator: 'Exists', effect: '' }],
      [taint({ effect: 'NoExecute' })],
      true,
    ],
    [
      'Exists without a key is everything',
      [{ operator: 'Exists' }],
      [taint(), taint({ key: 'x', effect: 'NoExecute' })],
      true,
    ],
    ['Exists with an empty key too', [{ key: '', operator: 'Exists' }], [taint()], true],
    ['what is only preferred', [], [taint({ effect: 'PreferNoSchedule' })], true],
    ['one of two', [{ key: 'dedicated', operator: 'Exists' }], [taint(), taint({ key: 'x' })], false],
  ])('%s', (_name, tolerations, taints, expected) => {
    expect(tolerates(build('b', { spec: { tolerations } }), taints)).toBe(expected);
  });
});

/** A pod with one required term of these requirements, and no other wishes. */
const wanting = (...matchExpressions: NodeSelectorRequirement[]): Pod => withTerms([{ matchExpressions }]);
const withTerms = (
  nodeSelectorTerms: {
    matchExpressions?: NodeSelectorRequirement[];
    matchFields?: NodeSelectorRequirement[];
  }[],
): Pod =>
  build('b', {
    spec: {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    },
  });

describe('the pool', () => {
  const pool = nodePool({
    requirements: [
      { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] },
      { key: 'team', operator: 'In', values: ['a', 'b'] },
      { key: 'tier', operator: 'NotIn', values: ['free'] },
      { key: 'size', operator: 'Exists' },
    ],
  });

  it.each<[string, NodeSelectorRequirement, boolean]>([
    ['its label', { key: 'convox-build', operator: 'In', values: ['true'] }, true],
    ['its label with another value', { key: 'convox-build', operator: 'In', values: ['false'] }, false],
    ['its label, not with that value', { key: 'convox-build', operator: 'NotIn', values: ['true'] }, false],
    ['its label, whatever it says', { key: 'convox-build', operator: 'Exists' }, true],
    ['no such label', { key: 'convox-build', operator: 'DoesNotExist' }, false],
    ['its own name', { key: 'karpenter.sh/nodepool', operator: 'In', values: ['build'] }, true],
    ['the name of another', { key: 'karpenter.sh/nodepool', operator: 'In', values: ['workload'] }, false],
    ['one of its choices', { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }, true],
    ['none of its choices', { key: 'kubernetes.io/arch', operator: 'In', values: ['riscv64'] }, false],
    ['not one of its choices, of two', { key: 'team', operator: 'NotIn', values: ['a'] }, true],
    ['not both of its choices', { key: 'team', operator: 'NotIn', values: ['a', 'b'] }, false],
    ['a choice, whatever it is', { key: 'team', operator: 'Exists' }, true],
    ['no choice at all', { key: 'team', operator: 'DoesNotExist' }, false],
    ['a value that it only excludes others of', { key: 'tier', operator: 'In', values: ['paid'] }, true],
    ['the value that it excludes', { key: 'tier', operator: 'In', values: ['free'] }, false],
    ['any value of what is to exist', { key: 'size', operator: 'In', values: ['big'] }, true],
    [
      'what every node gets from the cloud',
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['eu-west-1a'] },
      true,
    ],
    [
      'what Karpenter gives every node',
      { key: 'karpenter.k8s.aws/instance-cpu', operator: 'Gt', values: ['3'] },
      true,
    ],
    ['a label that nobody gives', { key: 'gpu', operator: 'Exists' }, false],
    ['the absence of a label that nobody gives', { key: 'gpu', operator: 'DoesNotExist' }, true],
  ])('%s', (_, requirement, expected) => {
    expect(fitsPool(wanting(requirement), pool)).toBe(expected);
  });

  it('fits any term of the affinity, all of the node selector, and is not asked by what is preferred', () => {
    const good: NodeSelectorRequirement = { key: 'team', operator: 'In', values: ['a'] };
    const bad: NodeSelectorRequirement = { key: 'team', operator: 'In', values: ['c'] };
    expect(fitsPool(wanting(good, bad), pool)).toBe(false);
    expect(fitsPool(withTerms([{ matchExpressions: [bad] }, { matchExpressions: [good] }]), pool)).toBe(true);
    expect(fitsPool(withTerms([]), pool)).toBe(false);
    expect(fitsPool(withTerms([{}]), pool)).toBe(false);
    const selector = (nodeSelector: Record<string, string>): Pod =>
      build('b', { spec: { nodeSelector, affinity: {} } });
    expect(fitsPool(selector({ team: 'a', 'convox-build': 'true' }), pool)).toBe(true);
    expect(fitsPool(selector({ team: 'a', 'convox-build': 'false' }), pool)).toBe(false);
    expect(fitsPool(build('b', { spec: { affinity: {} } }), pool)).toBe(true);
  });

  it('must be tolerated: its taints, not its startup taints', () => {
    const startup = nodePool({ startupTaints: [{ key: 'agent', effect: 'NoExecute' }] });
    expect(fitsPool(build('b'), startup)).toBe(true);
    expect(fitsPool(build('b'), nodePool({ taints: [{ key: 'gpu', effect: 'NoSchedule' }] }))).toBe(false);
  });
});

describe('a node', () => {
  const node = (
    more: { labels?: Record<string, string>; taints?: Taint[]; allocatable?: Record<string, string> } = {},
  ): Node => ({
    kind: 'Node',
    metadata: meta('n', { labels: { 'convox-build': 'true', ...more.labels } }),
    spec: { taints: more.taints ?? [] },
    status: { allocatable: more.allocatable ?? { cpu: '4', memory: '8Gi' } },
  });

  it.each<[string, NodeSelectorRequirement, boolean]>([
    ['In', { key: 'cpu', operator: 'In', values: ['8'] }, true],
    ['NotIn', { key: 'cpu', operator: 'NotIn', values: ['8'] }, false],
    ['NotIn, without the label', { key: 'x', operator: 'NotIn', values: ['8'] }, true],
    ['Exists', { key: 'cpu', operator: 'Exists' }, true],
    ['DoesNotExist', { key: 'x', operator: 'DoesNotExist' }, true],
    ['Gt less', { key: 'cpu', operator: 'Gt', values: ['7'] }, true],
    ['Gt the same', { key: 'cpu', operator: 'Gt', values: ['8'] }, false],
    ['Lt more', { key: 'cpu', operator: 'Lt', values: ['9'] }, true],
    ['Lt the same', { key: 'cpu', operator: 'Lt', values: ['8'] }, false],
    ['Gt, without the label', { key: 'x', operator: 'Gt', values: ['0'] }, false],
    ['Lt, without the label', { key: 'x', operator: 'Lt', values: ['9'] }, false],
    [
      'what every node gets, but this one does not have',
      { key: 'topology.kubernetes.io/zone', operator: 'Exists' },
      false,
    ],
  ])('by its own labels: %s', (_, requirement, expected) => {
    expect(fitsNode(wanting(requirement), node({ labels: { cpu: '8' } }), [])).toBe(expected);
  });

  it('by its own name, where the affinity asks for that', () => {
    const named = (name: string): Pod =>
      withTerms([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }]);
    expect(fitsNode(named('n'), node(), [])).toBe(true);
    expect(fitsNode(named('m'), node(), [])).toBe(false);
  });

  it('as if it were not cordoned, but with every other taint', () => {
    const cordon: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
    expect(fitsNode(build('b'), node({ taints: [cordon] }), [])).toBe(true);
    expect(
      fitsNode(
        build('b'),
        node({ taints: [cordon, { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] }),
        [],
      ),
    ).toBe(false);
    expect(
      fitsNode(build('b'), node({ taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }), []),
    ).toBe(false);
  });

  it('of the fleet as tests have it takes a Build', () => {
    expect(fitsNode(build('b'), buildNode('n', { cordoned: true }).node ?? node(), [])).toBe(true);
  });

  describe('by the room that is left', () => {
    const asking = (requests: Record<string, string>): Pod =>
      build('b', { spec: { containers: [{ name: 'c', resources: { requests } }] } });

    it.each<[string, Record<string, string>, string[], boolean]>([
      ['exactly', { cpu: '4' }, [], true],
      ['a little too much', { cpu: '4001m' }, [], false],
      ['in thousandths', { cpu: '500m' }, ['3', '500m'], true],
      ['taken', { cpu: '1' }, ['3500m'], false],
      ['a fraction', { cpu: '0.5' }, ['3.5'], true],
      ['an exponent', { cpu: '4e0' }, [], true],
      ['memory in binary', { memory: '8Gi' }, [], true],
      ['memory in binary, too much', { memory: '8193Mi' }, [], false],
      ['memory in decimal', { memory: '8G' }, [], true],
      ['memory in bytes', { memory: '8589934592' }, [], true],
      ['memory in thousandths of bytes', { memory: '8589934592000m' }, [], true],
      ['memory in exabytes', { memory: '1E' }, [], false],
      ['nothing asked', {}, ['4'], true],
      ['something that is no quantity', { cpu: 'much' }, [], false],
    ])('%s', (_, requests, taken, expected) => {
      const others = taken.map((cpu, index) => build(`other-${index}`, { node: 'n', cpu }));
      expect(fitsNode(asking(requests), node(), others)).toBe(expected);
    });

    it.each<[string, string]>([
      ['1E', '1000P'],
      ['1Ei', '1024Pi'],
      ['1e3', '1k'],
      ['1E3', '1k'],
      ['12e-1', '1200m'],
    ])('%s is %s', (one, other) => {
      const roomy = node({ allocatable: { memory: one } });
      expect(fitsNode(asking({ memory: other }), roomy, [])).toBe(true);
      expect(fitsNode(asking({ memory: one }), node({ allocatable: { memory: other } }), [])).toBe(true);
    });

    it('of every container together', () => {
      const pod = (cpu: string): Pod =>
        build('b', {
          spec: { containers: ['a', 'b'].map((name) => ({ name, resources: { requests: { cpu } } })) },
        });
      expect(fitsNode(pod('2'), node(), [])).toBe(true);
      expect(fitsNode(pod('2500m'), node(), [])).toBe(false);
    });

    it('and is not in the way where the node does not say', () => {
      expect(fitsNode(asking({ cpu: '400' }), node({ allocatable: {} }), [])).toBe(true);
    });
  });
});
