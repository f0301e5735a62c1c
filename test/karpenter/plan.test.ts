/** A plan on a real API server: what it lists there is what is there, nothing is written, and nothing has changed. */
import { inject, expect, it } from 'vitest';
import { systemClock } from '../../adapters/clock.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { explainPlan } from '../../cli/plan/explain.ts';
import { NotFoundError } from '../../rollout/errors.ts';
import type { Kind } from '../../rollout/kubernetes.ts';
import type { Cluster, PlanReads, Ports, StoredParameter } from '../../rollout/ports.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { apiServer } from './api-server-subject.ts';
import { clientOf } from './control-plane.ts';

const KINDS: readonly Kind[] = [
  'EC2NodeClass',
  'NodePool',
  'NodeClaim',
  'Node',
  'Lease',
  'DaemonSet',
  'ServiceAccount',
];

/** Name and resourceVersion of everything that a plan looks at and no controller of this server touches. */
async function versions(cluster: Cluster): Promise<string[]> {
  const lists = await Promise.all(KINDS.map((kind) => cluster.list(kind)));
  return lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`);
}

it('reads who runs what, and every call on record is a read', async () => {
  await using subject = await apiServer();
  const admin = clientOf(inject('controlPlane'), 'admin');
  await subject.addClass('build', { httpTokens: 'required', httpPutResponseHopLimit: 2 }, 'terraform');
  await subject.addPool('build', 'build');
  await subject.addLease('imds-rollout-build');
  const post = (path: string, body: object) =>
    admin({ verb: 'create', resource: path, method: 'POST', path, body });
  await post('/api/v1/namespaces/default/serviceaccounts', {
    metadata: {
      name: 'spot-handler',
      annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/spot' },
    },
  });
  const labels = { app: 'spot' };
  await post('/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'castai-spot-handler' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'spot-handler',
          containers: [{ name: 'main', image: 'us-docker.pkg.dev/castai-hub/library/spot-handler:v0.19.0' }],
        },
      },
    },
  });
  const before = await versions(subject.port);
  const verbs: string[] = [];
  const recorded: ApiClient = (call) => {
    verbs.push(`${call.verb} ${call.method}`);
    return admin(call);
  };
  const explained = await explainPlan({
    rack: 'demo',
    ...portsOf(createCluster(recorded, systemClock)),
    days: 14,
    forecast: { runs: 2, seed: 1 },
  });
  expect(explained).toMatchObject({ outcome: null, unknowns: [], forecast: { outcomes: { Succeeded: 1 } } });
  expect(explained.plan?.owners).toEqual({ terraform: ['httpTokens', 'httpPutResponseHopLimit'] });
  expect(explained.workloads).toMatchObject([
    {
      kind: 'DaemonSet',
      name: 'default/castai-spot-handler',
      nodes: [],
      change: 'loses',
      credentials: { from: 'node', afterRestart: 'irsa', role: 'arn:aws:iam::123456789012:role/spot' },
      agent: { name: 'CAST AI spot handler' },
    },
  ]);
  expect(new Set(verbs)).toEqual(new Set(['list GET', 'get GET']));
  expect(await versions(subject.port)).toEqual(before);
  for (const path of [
    '/apis/apps/v1/namespaces/default/daemonsets/castai-spot-handler',
    '/api/v1/namespaces/default/serviceaccounts/spot-handler',
  ])
    await admin({ verb: 'delete', resource: path, method: 'DELETE', path });
});

function portsOf(cluster: Cluster): { ports: Ports; reads: PlanReads } {
  const parameter = (key: string, value: string): StoredParameter => ({
    key,
    value,
    type: 'String',
    version: 1,
    lastModifiedDate: '2026-03-02T09:00:00.000Z',
    lastModifiedUser: 'arn:aws:iam::123456789012:user/platform-engineer',
  });
  const stored = [
    parameter('karpenter_enabled', 'true'),
    parameter('build_node_enabled', 'true'),
    parameter('imds_http_tokens', 'required'),
    parameter('karpenter_build_imds_hop_limit', '1'),
  ];
  const never = (): never => {
    throw new NotFoundError('a plan needs none of this');
  };
  return {
    ports: {
      clock: systemClock,
      metrics: { sums: never, rejections: never },
      parameters: {
        list: async () => stored,
        history: async (_, key) => stored.filter((each) => each.key === key),
      },
      records: {
        registrations: async () => [{ rack: 'demo', cluster: 'demo', nodePool: 'build' }],
        registration: never,
        read: async () => emptyRecord,
        write: never,
      },
      instances: {
        find: async () => [],
        accountDefaults: async () => ({ httpTokensEnforced: false }),
        modifyMetadataOptions: never,
      },
      clusters: { connect: async () => cluster },
      approvals: { read: never, write: never },
      waitTokens: { read: never, keep: never, forget: never },
      identities: { verify: never },
      workflow: {
        start: never,
        answer: never,
        answers: never,
        running: async () => [],
        describe: async () => undefined,
      },
      reports: { put: never, get: never, list: never },
      notices: { send: never },
    },
    reads: { metrics: { sums: async () => new Map() }, podIdentities: { list: async () => [] } },
  };
}
