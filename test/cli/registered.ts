/** A deployment whose cluster is any API server, and whose account is in memory. */
import { createCluster } from '../../adapters/cluster/cluster.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import type { Access, AccessEntry, ClusterFacts } from '../../cli/account/access.ts';
import { createObjects } from '../../cli/account/objects.ts';
import type { Deployment } from '../../cli/deployment.ts';
import { actionsByFunction } from '../../cli/doctor/permission-checks.ts';
import type { Mark, Say } from '../../cli/step.ts';
import { noApproval, type Approval } from '../../rollout/approval.ts';
import type { Instance } from '../../rollout/ec2.ts';
import { NotFoundError, TransientError } from '../../rollout/errors.ts';
import type { Execution, Registration, StoredParameter } from '../../rollout/ports.ts';
import { emptyRecord, type RolloutRecord } from '../../rollout/record.ts';
import { launchable } from '../contract/launchable.ts';

export const NOW = new Date('2026-03-02T09:00:00.000Z');
const clock = { now: () => NOW };

export interface Account {
  registrations: Registration[];
  records: Map<string, RolloutRecord>;
  approval: Approval;
  parameters: StoredParameter[];
  executions: Execution[];
  reports: Map<string, string>;
  instances: Instance[];
  entries: Map<string, AccessEntry>;
  /** undefined where the cluster is gone. */
  facts: ClusterFacts | undefined;
  rolesMadeAt: Date;
  tokensEnforced: boolean;
  /** Actions that IAM does not allow to anybody. */
  refused: Set<string>;
  /** The network goes just before the last write. */
  stopsAtForgetting: boolean;
}

const ROLE = 'arn:aws:iam::123456789012:role/';
export const reader = `${ROLE}imds-rollout-PlanRole`;
export const writer = `${ROLE}imds-rollout-ObserveRole`;

export const newAccount = (): Account => ({
  registrations: [],
  records: new Map(),
  approval: noApproval,
  parameters: [],
  executions: [],
  reports: new Map(),
  instances: [],
  entries: new Map(),
  facts: {
    name: 'demo',
    status: 'ACTIVE',
    version: '1.34',
    authenticationMode: 'API_AND_CONFIG_MAP',
    isPublic: true,
    isPrivate: false,
    publicAccessCidrs: ['0.0.0.0/0'],
    endpoint: 'https://127.0.0.1',
    certificateAuthority: 'none',
  },
  rolesMadeAt: new Date('2026-01-01T00:00:00Z'),
  tokensEnforced: false,
  refused: new Set(),
  stopsAtForgetting: false,
});

function accessOf(account: Account): Access {
  return {
    cluster: async (name) => (name === account.facts?.name ? account.facts : undefined),
    entry: async (_cluster, role) => account.entries.get(role),
    create: async (_cluster, role, groups) => {
      account.entries.set(role, { groups, type: 'STANDARD', createdAt: NOW });
    },
    setGroups: async (_cluster, role, groups) => {
      account.entries.set(role, { groups, type: 'STANDARD', createdAt: NOW });
    },
    remove: async (_cluster, role) => account.entries.delete(role),
    roleMadeAt: async () => account.rolesMadeAt,
  };
}

function portsOf(account: Account, api: ApiClient): Deployment['ports'] {
  return {
    clock,
    metrics: { sums: async () => new Map(), rejections: async () => new Map() },
    parameters: {
      list: async () => account.parameters,
      history: async () => [],
    },
    records: {
      registrations: async () => [...account.registrations],
      registration: async (rack) => account.registrations.find((each) => each.rack === rack),
      read: async (rack) => account.records.get(rack) ?? structuredClone(emptyRecord),
      write: async (rack, record) => {
        account.records.set(rack, record);
      },
    },
    approvals: {
      read: async () => account.approval,
      write: async (_rack, approval) => {
        account.approval = approval;
      },
    },
    identities: { verify: () => Promise.reject(new NotFoundError('nobody decides here')) },
    instances: {
      find: async () => account.instances,
      modifyMetadataOptions: () => Promise.reject(new NotFoundError('nobody modifies here')),
      accountDefaults: async () => ({ httpTokensEnforced: account.tokensEnforced }),
    },
    clusters: { connect: async () => createCluster(api, clock) },
    workflow: {
      start: async (name) => {
        account.executions.push({ name, startedAt: NOW.toISOString(), status: 'RUNNING' });
        return 'started';
      },
      running: async () => account.executions.filter(({ status }) => status === 'RUNNING'),
      describe: async (name) => account.executions.find((each) => each.name === name),
      answer: async () => 'gone',
      answers: async () => [],
    },
    reports: {
      put: async (key, body) => {
        account.reports.set(key, body);
      },
      get: async (key) => account.reports.get(key),
      list: async (prefix) => [...account.reports.keys()].filter((key) => key.startsWith(prefix)).sort(),
    },
    notices: { send: async () => undefined },
  };
}

export function deploymentOf(account: Account, api: ApiClient): Deployment {
  return {
    stack: 'imds-rollout',
    region: 'eu-west-1',
    outputs: {
      ApproveFunction: 'imds-rollout-approve',
      StateMachineArn: 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout',
      ReportBucket: 'reports',
      ParameterPrefix: '/racks/',
      RecordPrefix: '/imds-rollout/racks/',
      TokenPrefix: '/imds-rollout/approval-tokens/',
      Clusters: ['demo'],
      ReadingRoles: [reader],
      WritingRoles: [writer],
      InVpc: false,
      FunctionRoles: new Map(
        [...actionsByFunction().keys()].map((name) => [name, `${ROLE}imds-rollout-${name}`]),
      ),
    },
    ports: portsOf(account, api),
    planReads: { metrics: { sums: async () => new Map() }, podIdentities: { list: async () => [] } },
    store: {
      setParameter: async () => undefined,
      unsetParameter: async () => true,
      register: async (registration) => {
        account.registrations.push(registration);
      },
      forget: async (rack) => {
        if (account.stopsAtForgetting) throw new TransientError('stopped');
        account.records.delete(rack);
        account.registrations = account.registrations.filter((each) => each.rack !== rack);
      },
    },
    access: accessOf(account),
    permissions: {
      refused: async (_role, { actions, resource }) =>
        actions
          .filter((action) => account.refused.has(action))
          .map((action) => ({ action, resource, by: 'the role’s policies' })),
    },
    progress: { of: async () => ({ state: 'Wait', waitsFor: 'b-1' }) },
    objects: async () => createObjects(api),
    decide: async () => ({ refused: 'nobody decides here' }),
    identity: async () => 'arn:aws:iam::123456789012:user/somebody',
  };
}

/** What was said, by mark. */
export function listener(): { say: Say; said: [Mark, string][]; marks: () => string } {
  const said: [Mark, string][] = [];
  return {
    say: (mark, what) => said.push([mark, what]),
    said,
    marks: () => [...new Set(said.map(([mark]) => mark))].sort().join(''),
  };
}

/** An administrator's hands: a class, a pool of it, a node of the pool with its NodeClaim, a pod. */
export function handsOn(api: ApiClient) {
  const post = async (path: string, body: object): Promise<void> => {
    await api({
      verb: 'create',
      resource: path,
      method: 'POST',
      path,
      query: { fieldManager: 'terraform' },
      body,
    });
  };
  const nodeClassRef = (name: string) => ({ group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name });
  return {
    addClass: (name: string, metadataOptions: object) =>
      post('/apis/karpenter.k8s.aws/v1/ec2nodeclasses', {
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name },
        spec: {
          ...launchable,
          metadataOptions,
        },
      }),
    addPool: (name: string, nodeClass: string, more: { kind?: string; labels?: object } = {}) =>
      post('/apis/karpenter.sh/v1/nodepools', {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name },
        spec: {
          template: {
            ...(more.labels !== undefined && { metadata: { labels: more.labels } }),
            spec: {
              nodeClassRef: {
                ...nodeClassRef(nodeClass),
                ...(more.kind !== undefined && { kind: more.kind }),
              },
              requirements: [],
            },
          },
        },
      }),
    addNode: async (name: string, pool: string, annotations: Record<string, string> = {}) => {
      const labels = { 'karpenter.sh/nodepool': pool };
      const providerID = `aws:///eu-west-1a/i-${Buffer.from(name).toString('hex')}`;
      await post('/api/v1/nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels, annotations },
        spec: { providerID },
      });
      await post('/apis/karpenter.sh/v1/nodeclaims', {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name: `${name}-claim`, labels },
        spec: { nodeClassRef: nodeClassRef(pool), requirements: [] },
      });
      await api({
        verb: 'patch',
        resource: 'nodeclaims/status',
        method: 'PATCH',
        path: `/apis/karpenter.sh/v1/nodeclaims/${name}-claim/status`,
        contentType: 'application/merge-patch+json',
        body: { status: { providerID, nodeName: name } },
      });
    },
    addPod: (name: string, nodeName: string) =>
      post('/api/v1/namespaces/default/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'default' },
        spec: { nodeName, containers: [{ name: 'build', image: 'busybox' }] },
      }),
  };
}
