/** What a rollout finds: small objects of the right shapes, each as dull as can be, with what a test is about said in it. */
import type { Instance, MetadataOptions } from '../../rollout/ec2.ts';
import { hashState, isDrifted, type BuildNode, type Fleet } from '../../rollout/fleet.ts';
import { holdOn, type Hold } from '../../rollout/hold.ts';
import type { Question } from '../../rollout/approval.ts';
import { podName } from '../../rollout/builds.ts';
import type {
  Condition,
  EC2NodeClass,
  MergePatch,
  Node,
  NodeClaim,
  NodePool,
  ObjectMeta,
  Pod,
} from '../../rollout/kubernetes.ts';
import { HOLD_ANNOTATION, NODECLASS_HASH, NODECLASS_HASH_VERSION } from '../../rollout/naming.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { emptyRecord, type Options, type RolloutRecord } from '../../rollout/record.ts';
import type { Rolling } from '../../rollout/state.ts';
import { apply as mergePatch } from 'tiny-merge-patch';

export const START = new Date('2026-03-02T09:00:00.000Z');

/** So many seconds after the start. */
export const at = (seconds: number): Date => new Date(START.getTime() + seconds * 1000);
export const instant = (seconds: number): string => at(seconds).toISOString();

export const parameter = (
  key: string,
  value: string,
  type: StoredParameter['type'] = 'String',
): StoredParameter => ({
  key,
  value,
  type,
  version: 1,
  lastModifiedDate: instant(0),
});

/** The parameters of a rack with Karpenter and build nodes, and whatever else is said. */
export function parametersOf(values: Record<string, string | undefined>): StoredParameter[] {
  const all: Record<string, string | undefined> = {
    karpenter_enabled: 'true',
    build_node_enabled: 'true',
    ...values,
  };
  return Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [parameter(key, value)]));
}

let uids = 0;

export function meta(name: string, more: Partial<ObjectMeta> = {}): ObjectMeta {
  uids += 1;
  return {
    name,
    uid: `uid-${uids}`,
    resourceVersion: '1',
    creationTimestamp: instant(-3600),
    ...more,
  };
}

export const condition = (
  type: string,
  status: Condition['status'],
  more: Partial<Condition> = {},
): Condition => ({
  type,
  status,
  ...more,
});

export function nodeClass(
  options: {
    name?: string;
    says?: Options;
    hash?: string;
    generation?: number;
    ready?: Condition;
    meta?: Partial<ObjectMeta>;
  } = {},
): EC2NodeClass {
  const {
    name = 'build',
    says = { httpTokens: 'required', httpPutResponseHopLimit: 1 },
    hash = 'new',
    generation = 2,
  } = options;
  return {
    kind: 'EC2NodeClass',
    metadata: meta(name, {
      uid: 'class-uid',
      generation,
      annotations: { [NODECLASS_HASH]: hash, [NODECLASS_HASH_VERSION]: 'v5' },
      ...options.meta,
    }),
    spec: { metadataOptions: { httpEndpoint: 'enabled', ...says } },
    status: { conditions: [options.ready ?? condition('Ready', 'True', { observedGeneration: generation })] },
  };
}

export const nodePool = (
  spec: Partial<NodePool['spec']['template']['spec']> = {},
  labels: Record<string, string> = {},
): NodePool => ({
  kind: 'NodePool',
  metadata: meta('build'),
  spec: {
    template: {
      metadata: { labels: { 'convox-build': 'true', ...labels } },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'build' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
        taints: [{ key: 'dedicated', value: 'build', effect: 'NoSchedule' }],
        ...spec,
      },
    },
  },
});

/** A Build as the reference platform makes them: bare, tolerant of the pool, bound to `node` or to none. */
export function build(
  name: string,
  options: {
    node?: string;
    cpu?: string;
    waitingSince?: number;
    meta?: Partial<ObjectMeta>;
    spec?: Partial<Pod['spec']>;
  } = {},
): Pod {
  const { node, cpu = '1', waitingSince } = options;
  return {
    kind: 'Pod',
    metadata: meta(name, {
      namespace: 'app',
      labels: { type: 'process', service: 'build' },
      ...(waitingSince !== undefined && { creationTimestamp: instant(waitingSince) }),
      ...options.meta,
    }),
    spec: {
      ...(node !== undefined && { nodeName: node }),
      tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'convox-build', operator: 'In', values: ['true'] }] },
            ],
          },
        },
      },
      containers: [{ name: 'build', resources: { requests: { cpu } } }],
      ...options.spec,
    },
    status:
      node === undefined
        ? { phase: 'Pending', conditions: [condition('PodScheduled', 'False', { reason: 'Unschedulable' })] }
        : { phase: 'Running', conditions: [] },
  };
}

export const metadataOptions = (more: Partial<MetadataOptions> = {}): MetadataOptions => ({
  state: 'applied',
  httpTokens: 'required',
  httpPutResponseHopLimit: 1,
  httpEndpoint: 'enabled',
  ...more,
});

export interface NodeGiven {
  /** Its options; null where EC2 said nothing of them. */
  options?: Partial<MetadataOptions> | null;
  builds?: Pod[];
  pods?: Pod[];
  hash?: string | null;
  drifted?: string | boolean;
  hold?: Hold;
  cordoned?: boolean;
  annotations?: Record<string, string>;
  leaving?: boolean;
  ready?: boolean;
  cpu?: string;
  /** False: a NodeClaim that is not registered yet. */
  registered?: boolean;
  /** False: a NodeClaim that is not even launched. */
  launched?: boolean;
  createdAt?: number;
}

/** `wrong` by its options: what the class said before. */
export const WRONG = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;

export function buildNode(name: string, given: NodeGiven = {}): BuildNode {
  const {
    options = {},
    builds = [],
    pods = [],
    hash = 'new',
    hold,
    registered = true,
    launched = true,
  } = given;
  const id = `i-${Buffer.from(name).toString('hex').slice(0, 17)}`;
  const annotations = {
    ...given.annotations,
    ...(hold && { [HOLD_ANNOTATION]: JSON.stringify(hold) }),
  };
  const claim: NodeClaim = {
    kind: 'NodeClaim',
    metadata: meta(`claim-of-${name}`, {
      labels: { 'karpenter.sh/nodepool': 'build' },
      creationTimestamp: instant(given.createdAt ?? -3600),
      annotations: {
        ...(hash !== null && { [NODECLASS_HASH]: hash, [NODECLASS_HASH_VERSION]: 'v5' }),
        ...(!registered && annotations),
      },
    }),
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'build' } },
    status: {
      ...(launched && { providerID: `aws:///eu-west-1a/${id}` }),
      conditions:
        given.drifted === undefined || given.drifted === false
          ? []
          : [
              condition('Drifted', 'True', {
                reason: given.drifted === true ? 'NodeClassDrift' : given.drifted,
              }),
            ],
    },
  };
  const node: Node = {
    kind: 'Node',
    metadata: meta(name, { labels: { 'convox-build': 'true', 'kubernetes.io/arch': 'amd64' }, annotations }),
    spec: {
      ...(given.cordoned === true && { unschedulable: true }),
      taints: [{ key: 'dedicated', value: 'build', effect: 'NoSchedule' }],
    },
    status: {
      conditions: [condition('Ready', given.ready === false ? 'False' : 'True')],
      allocatable: { cpu: given.cpu ?? '4' },
    },
  };
  const instance: Instance = {
    instanceId: id,
    state: 'running',
    launchTime: instant(-3600),
    ...(options !== null && { metadataOptions: metadataOptions(options) }),
    tags: {},
  };
  const found = holdOn(registered ? node : claim);
  return {
    name: registered ? name : claim.metadata.name,
    claim,
    ...(registered && { node }),
    ...(launched && { instanceId: id, ...(options !== null && { instance }) }),
    pods: [...builds, ...pods],
    builds: builds.map(podName),
    hash: hashState(claim, nodeClass()),
    drifted: isDrifted(claim),
    ...(found && { hold: found }),
    leaving: given.leaving ?? false,
  };
}

export const fleetOf = (nodes: BuildNode[], more: Partial<Fleet> = {}): Fleet => ({
  nodeClass: nodeClass(),
  pool: nodePool(),
  nodes,
  waiting: [],
  podsListedAt: START,
  instancesKnown: true,
  ...more,
});

/** What the API server makes of a merge patch; the resourceVersion in it is a guard and moves on. */
export function patched<T extends { metadata: ObjectMeta }>(object: T, patch: MergePatch | undefined): T {
  if (patch === undefined) return object;
  const after = mergePatch(object as unknown, patch as unknown) as T;
  return {
    ...after,
    metadata: { ...after.metadata, resourceVersion: String(Number(object.metadata.resourceVersion) + 1) },
  };
}

export const record = (more: Partial<RolloutRecord> = {}): RolloutRecord => ({ ...emptyRecord, ...more });

export const rolling = (more: Partial<Rolling> = {}): Rolling => ({
  schemaVersion: 1,
  rack: 'demo',
  execution: 'demo-1',
  startedAt: instant(0),
  looks: 0,
  next: 'look',
  lookAgainIn: 5,
  generation: 'abcdef012345',
  target: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
  restoring: [],
  policy: {
    strategy: 'graceful',
    deadline: 3600,
    stragglers: 'modify',
    drainTimeout: 12 * 3600,
    classWriter: 'service',
    approval: 'loosening',
  },
  patchedAt: instant(0),
  wholeLookAt: instant(0),
  ...more,
});

/** What a person is asked about one hop more. */
export const question: Question = {
  hash: '0123456789ab',
  generation: 'g',
  class: 'build',
  classUid: 'uid',
  changes: [{ option: 'httpPutResponseHopLimit', from: 1, to: 2 }],
  looser: ['httpPutResponseHopLimit'],
  strategy: 'graceful',
  owners: ['helm: httpTokens'],
  why: 'it loosens httpPutResponseHopLimit',
};
