/** The objects that the cluster is made of, as Convox's racks render them and Karpenter's CRDs complete them. */
import type {
  ManagedFieldsEntry,
  NodePool,
  OwnerReference,
  Taint,
  Toleration,
} from '../../rollout/kubernetes.ts';
import { fieldsTree } from './managed-fields.ts';
import {
  buildNamespace,
  goSeconds,
  nodeClassLabel,
  nodePoolLabel,
  stamp,
  terminationFinalizer,
  unregisteredTaint,
} from './names.ts';
import type { Draft } from './store.ts';
import type { BuildSpec, ClassSpec, PodSpec, PoolSpec } from './types.ts';
import { withDefaults } from './validation.ts';

const buildTaint: Taint = { key: 'dedicated', value: 'build', effect: 'NoSchedule' };
const buildToleration: Toleration = { key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' };

/** What a node's labels must have for a Build. */
const buildAffinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'convox-build', operator: 'In' as const, values: ['true'] }] },
      ],
    },
  },
};

export function classDraft(name: string, spec: ClassSpec, at: Date): Draft<'EC2NodeClass'> {
  const { owners, uid, ...options } = spec;
  const managedFields: ManagedFieldsEntry[] = (owners ?? [])
    .filter((owner) => owner.fields.length > 0)
    .map((owner) => ({
      manager: owner.manager,
      operation: owner.operation ?? 'Apply',
      apiVersion: 'karpenter.k8s.aws/v1',
      time: stamp(at),
      fieldsType: 'FieldsV1',
      fieldsV1: fieldsTree(owner.fields.map((field) => ['spec', 'metadataOptions', field])),
    }));
  return {
    kind: 'EC2NodeClass',
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      annotations: {},
      finalizers: [terminationFinalizer],
      ...(managedFields.length > 0 ? { managedFields } : {}),
    },
    spec: {
      role: 'karpenter-nodes',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      blockDeviceMappings: [
        { deviceName: '/dev/xvda', ebs: { volumeType: 'gp3', volumeSize: '20Gi', encrypted: true } },
      ],
      metadataOptions: withDefaults(options),
      tags: { Name: `karpenter/${name}` },
    },
  };
}

export function poolDraft(name: string, spec: PoolSpec): Draft<'NodePool'> {
  const builds = spec.builds ?? name === 'build';
  const limits: Record<string, string | number> = {};
  if (spec.limits?.cpu !== undefined) limits['cpu'] = String(spec.limits.cpu);
  if (spec.limits?.nodes !== undefined) limits['nodes'] = String(spec.limits.nodes);
  const expireAfter = spec.expireAfterMs === undefined ? 720 * 3_600_000 : spec.expireAfterMs;
  return {
    kind: 'NodePool',
    metadata: { name, finalizers: [terminationFinalizer] },
    spec: {
      template: {
        metadata: { labels: { 'convox.io/nodepool': name, ...(builds ? { 'convox-build': 'true' } : {}) } },
        spec: {
          nodeClassRef: {
            group: 'karpenter.k8s.aws',
            kind: spec.classKind ?? 'EC2NodeClass',
            name: spec.class,
          },
          requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
          ...(builds ? { taints: [buildTaint] } : {}),
          expireAfter: expireAfter === null ? 'Never' : goSeconds(expireAfter),
          ...(spec.terminationGracePeriodMs === undefined || spec.terminationGracePeriodMs === null
            ? {}
            : { terminationGracePeriod: goSeconds(spec.terminationGracePeriodMs) }),
        },
      },
      disruption: {
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: spec.consolidateAfterMs === null ? 'Never' : goSeconds(spec.consolidateAfterMs),
        budgets: (spec.budgets ?? [{ nodes: '10%' }]).map(({ reasons, ...budget }) => ({
          ...budget,
          ...(reasons === undefined ? {} : { reasons: [...reasons] }),
        })),
      },
      ...(Object.keys(limits).length > 0 ? { limits } : {}),
      ...(spec.replicas === undefined || spec.replicas === null ? {} : { replicas: spec.replicas }),
    },
  };
}

/** A NodeClaim of the pool as the provisioner creates it: the class's hash comes with the launch. */
export function claimDraft(pool: NodePool, name: string, creationTimestamp?: string): Draft<'NodeClaim'> {
  const { spec, metadata } = pool.spec.template;
  return {
    kind: 'NodeClaim',
    metadata: {
      name,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: {
        ...metadata?.labels,
        [nodePoolLabel]: pool.metadata.name,
        [nodeClassLabel]: spec.nodeClassRef.name,
        'karpenter.sh/capacity-type': 'on-demand',
      },
      annotations: { ...metadata?.annotations },
      finalizers: [terminationFinalizer],
      ownerReferences: [
        { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: pool.metadata.name, uid: pool.metadata.uid },
      ],
    },
    spec: {
      nodeClassRef: spec.nodeClassRef,
      ...(spec.requirements === undefined ? {} : { requirements: spec.requirements }),
      ...(spec.taints === undefined ? {} : { taints: spec.taints }),
      ...(spec.expireAfter === undefined ? {} : { expireAfter: spec.expireAfter }),
      ...(spec.terminationGracePeriod === undefined
        ? {}
        : { terminationGracePeriod: spec.terminationGracePeriod }),
    },
  };
}

/** A Node as its kubelet creates it, not yet registered with Karpenter. */
export function nodeDraft(name: string, providerID: string, cpu: string, taints: Taint[]): Draft<'Node'> {
  return {
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone },
      annotations: {},
    },
    spec: { providerID, taints: [unregisteredTaint, ...taints] },
    status: { capacity: { cpu }, allocatable: { cpu }, conditions: [] },
  };
}

export const zone = 'us-east-1a';

/** Of a Build, where the scenario says nothing else. */
export const buildLabels: Readonly<Record<string, string>> = {
  name: 'build',
  service: 'build',
  'service-type': 'build',
  system: 'convox',
  type: 'process',
};

export function buildDraft(spec: BuildSpec, creationTimestamp?: string): Draft<'Pod'> {
  return {
    kind: 'Pod',
    metadata: {
      name: spec.name,
      namespace: spec.namespace ?? buildNamespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      labels: { ...buildLabels, ...spec.labels },
    },
    spec: {
      ...(spec.node === undefined ? {} : { nodeName: spec.node }),
      affinity: buildAffinity,
      tolerations: [buildToleration],
      containers: [{ name: 'build', resources: { requests: { cpu: String(spec.cpu ?? 1) } } }],
    },
    status: { phase: 'Pending', conditions: [] },
  };
}

export function parkedDraft(
  spec: PodSpec,
  onBuildPool: boolean,
  owner: OwnerReference | undefined,
  environment: readonly { name: string; value: string }[] = [],
): Draft<'Pod'> {
  // DaemonSets tolerate everything, and so are neither drained nor in the way of a disruption.
  const everywhere = owner?.kind === 'DaemonSet';
  return {
    kind: 'Pod',
    metadata: {
      name: spec.name,
      namespace: spec.namespace ?? buildNamespace,
      labels: { ...(spec.pdb === undefined || spec.pdb === null ? {} : { app: spec.pdb }), ...spec.labels },
      ...(spec.doNotDisrupt === true ? { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } : {}),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      nodeName: spec.node,
      ...(onBuildPool ? { affinity: buildAffinity } : {}),
      tolerations: everywhere ? [{ operator: 'Exists' }] : onBuildPool ? [buildToleration] : [],
      ...(spec.hostNetwork === true ? { hostNetwork: true } : {}),
      ...(spec.serviceAccount === undefined ? {} : { serviceAccountName: spec.serviceAccount }),
      containers: [
        {
          name: 'main',
          ...(spec.image === undefined ? {} : { image: spec.image }),
          ...(environment.length > 0 ? { env: [...environment] } : {}),
          ...(spec.privileged === true ? { securityContext: { privileged: true } } : {}),
          resources: { requests: { cpu: String(spec.cpu ?? 0) } },
        },
      ],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}
