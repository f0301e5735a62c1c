/** The objects of one rack as its owner would write them: class, pool, pods. */
import type { NodeClassMetadataOptions } from '../../rollout/kubernetes.ts';
import { DISCOVERY, INSTANCE_PROFILE } from './account.ts';
import { SMALL } from './neighbours.ts';

export interface MetadataOptions {
  httpTokens: 'optional' | 'required';
  httpPutResponseHopLimit: number;
}

export interface PoolOptions {
  /** How many nodes may be disrupted at a time: all, where nothing is said. */
  budget?: string;
  /** How much CPU the pool's nodes may have together. */
  cpu?: string;
  /** Of its nodes: after it, their pods are deleted whatever protects them. */
  terminationGracePeriod?: string;
}

export const discoveredBy = (value: string) => [{ tags: { 'karpenter.sh/discovery': value } }];

export const nodeClassOf = (
  name: string,
  imageId: string,
  metadataOptions: NodeClassMetadataOptions | undefined,
) => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name },
  spec: {
    amiFamily: 'Custom',
    amiSelectorTerms: [{ id: imageId }],
    instanceProfile: INSTANCE_PROFILE,
    subnetSelectorTerms: discoveredBy(DISCOVERY),
    securityGroupSelectorTerms: discoveredBy(DISCOVERY),
    metadataOptions,
  },
});

/** Idle nodes stay until a rollout replaces them. */
export const disruptionOf = (budget = '100%') => ({
  consolidationPolicy: 'WhenEmpty',
  consolidateAfter: 'Never',
  budgets: [{ nodes: budget }],
});

export const nodePoolOf = (name: string, { budget, cpu, terminationGracePeriod }: PoolOptions = {}) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: {
    disruption: disruptionOf(budget),
    ...(cpu !== undefined && { limits: { cpu } }),
    template: {
      spec: {
        expireAfter: '720h',
        ...(terminationGracePeriod !== undefined && { terminationGracePeriod }),
        taints: [{ key: 'dedicated', value: name, effect: 'NoSchedule' }],
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name },
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values: SMALL },
        ],
      },
    },
  },
});

/** On the rack's own nodes, and where nothing else is said with more than half of one: each pod has its own. */
export const podSpec = (pool: string, cpu = '1200m') => ({
  nodeSelector: { 'karpenter.sh/nodepool': pool },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  containers: [{ name: 'it', image: 'it', resources: { requests: { cpu } } }],
});
