/** What infra/kubernetes/ lets the service do, by the real authorizer and the real admission policy. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { systemClock } from '../../adapters/clock.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { ForbiddenError } from '../../rollout/errors.ts';
import type { MergePatch, WrittenKind } from '../../rollout/kubernetes.ts';
import type { Cluster } from '../../rollout/ports.ts';
import type { ClusterSubject } from '../contract/cluster.ts';
import { apiServer } from './api-server-subject.ts';
import { clientOf } from './control-plane.ts';
import { until } from './processes.ts';

const LEASE = 'imds-rollout-build';
const forbidden = (message: string | RegExp) =>
  expect.objectContaining({
    name: 'ForbiddenError',
    message: expect.stringMatching(message) as string,
  }) as Error;

let world: ClusterSubject;
let writes: Cluster;
let reads: Cluster;
let mine: { node: string; claim: string };
let others: { node: string; claim: string };

const paths: Record<string, string> = {
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
  Lease: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
};

beforeAll(async () => {
  const plane = inject('controlPlane');
  const admin = clientOf(plane, 'admin');
  world = await apiServer('writes');
  writes = world.port;
  reads = createCluster(clientOf(plane, 'reads'), systemClock);
  for (const file of ['rbac', 'admission-policy', 'rack']) {
    const text = readFileSync(`infra/kubernetes/${file}.yaml`, 'utf8')
      .replaceAll('<nodePool>', 'build')
      .replaceAll('<nodeClass>', 'build');
    for (const document of parseAllDocuments(text)) {
      const body = document.toJS() as { kind: string };
      const path = paths[body.kind];
      if (path === undefined)
        throw new Error(`${file}.yaml has a ${body.kind}, for which this test knows no path`);
      await admin({ verb: 'create', resource: body.kind, method: 'POST', path, body });
    }
  }
  for (const name of ['build', 'workload']) {
    await world.addClass(name, { httpTokens: 'optional', httpPutResponseHopLimit: 3 }, 'terraform');
    await world.addPool(name, name);
  }
  await world.addLease('imds-rollout-workload');
  mine = await world.addNode('build');
  others = await world.addNode('workload');
  // A policy is in force some moments after it was stored: until then, this label is written.
  let attempts = 0;
  await until('the policy is in force', [], async () => {
    attempts += 1;
    const refused = await writes
      .patch('Node', mine.node, { metadata: { labels: { attempts: String(attempts) } } })
      .then(
        () => false,
        (error: unknown) => error instanceof ForbiddenError,
      );
    if (!refused) throw new Error('a label was written');
  });
}, 120_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('the group that writes', () => {
  it('reads all that a look needs', async () => {
    for (const kind of [
      'EC2NodeClass',
      'NodePool',
      'NodeClaim',
      'Node',
      'Pod',
      'PodDisruptionBudget',
      'Event',
    ] as const) {
      await writes.list(kind);
      await reads.list(kind);
    }
    for (const port of [writes, reads]) {
      expect(await port.get('EC2NodeClass', 'build')).toBeDefined();
      expect(await port.get('Lease', LEASE)).toBeDefined();
    }
  });

  it('patches the class, and hands its ownership back', async () => {
    const before = await writes.get('EC2NodeClass', 'build');
    const patched = await writes.patch('EC2NodeClass', 'build', {
      metadata: {
        resourceVersion: before?.metadata.resourceVersion ?? '',
        annotations: { 'imds-rollout/rollout': 'demo-1', 'imds-rollout/generation': 'g' },
      },
      spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } },
    });
    const restored = await writes.patch('EC2NodeClass', 'build', {
      metadata: {
        resourceVersion: patched.metadata.resourceVersion,
        annotations: { 'imds-rollout/rollout': null, 'imds-rollout/generation': null },
      },
      spec: { metadataOptions: { httpTokens: 'optional', httpPutResponseHopLimit: 3 } },
    });
    const entries = (restored.metadata.managedFields ?? []).filter(
      ({ manager }) => manager !== 'imds-rollout',
    );
    const back = await writes.patch('EC2NodeClass', 'build', {
      metadata: {
        resourceVersion: restored.metadata.resourceVersion,
        managedFields: entries.map((entry) => ({ ...entry, fieldsV1: entry.fieldsV1 as MergePatch })),
      },
    });
    expect(back.metadata.managedFields?.map(({ manager }) => manager)).not.toContain('imds-rollout');
  });

  it('holds build nodes and their NodeClaims, and lets them go', async () => {
    for (const value of ['true', null]) {
      const annotations = { 'imds-rollout/hold': value, 'karpenter.sh/do-not-disrupt': value };
      const spec = { unschedulable: value === null ? null : true };
      await writes.patch('Node', mine.node, { metadata: { annotations }, spec });
      await writes.patch('NodeClaim', mine.claim, { metadata: { annotations } });
    }
  });

  it('takes the Lease, and says what it did', async () => {
    await writes.patch('Lease', LEASE, {
      metadata: { annotations: { 'imds-rollout/started-at': 'x', 'imds-rollout/generation': 'g' } },
      spec: { holderIdentity: 'demo-1', leaseTransitions: 1 },
    });
    const nodeClass = await writes.get('EC2NodeClass', 'build');
    const regarding = { kind: 'EC2NodeClass', name: 'build', uid: nodeClass?.metadata.uid ?? '' } as const;
    await writes.emit({ type: 'Normal', reason: 'IMDSRolledOut', message: 'done', regarding });
  });

  it.each<[string, WrittenKind, () => string, MergePatch]>([
    ['labels', 'Node', () => mine.node, { metadata: { labels: { a: 'b' } } }],
    ['other annotations', 'Node', () => mine.node, { metadata: { annotations: { a: 'b' } } }],
    ['taints', 'Node', () => mine.node, { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }],
    ['nodes of other pools', 'Node', () => others.node, { spec: { unschedulable: true } }],
    ['NodeClaims of other pools', 'NodeClaim', () => others.claim, hold()],
    ['finalizers', 'NodeClaim', () => mine.claim, { metadata: { finalizers: ['a.example/b'] } }],
    ['other classes', 'EC2NodeClass', () => 'workload', options({ httpTokens: 'required' })],
    ['the endpoint', 'EC2NodeClass', () => 'build', options({ httpEndpoint: 'disabled' })],
    ['the role', 'EC2NodeClass', () => 'build', { spec: { role: 'other' } }],
    [
      'the Lease of another class',
      'Lease',
      () => 'imds-rollout-workload',
      { spec: { holderIdentity: 'demo-1' } },
    ],
  ])('does not write %s', async (_what, kind, target, patch) => {
    const before = await writes.get(kind, target());
    await expect(writes.patch(kind, target(), patch)).rejects.toThrow(forbidden(/imds-rollout may/));
    expect(await writes.get(kind, target())).toEqual(before);
  });
});

describe('the group that reads', () => {
  it.each<[WrittenKind, () => string]>([
    ['Node', () => mine.node],
    ['NodeClaim', () => mine.claim],
    ['EC2NodeClass', () => 'build'],
    ['Lease', () => LEASE],
  ])('does not write a %s', async (kind, target) => {
    await expect(reads.patch(kind, target(), hold())).rejects.toThrow(forbidden(/cannot patch resource/));
  });
});

function hold(): MergePatch {
  return { metadata: { annotations: { 'imds-rollout/hold': 'a' } } };
}

function options(metadataOptions: MergePatch): MergePatch {
  return { spec: { metadataOptions } };
}
