/** Where the API server keeps each kind. */
import type { Kind } from '../../rollout/kubernetes.ts';

export interface Resource {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
  /**
   * `none`: cluster-scoped. `default`: namespaced, and only the ones there are the service's business (its Leases).
   * `any`: namespaced, read across all namespaces.
   */
  namespace: 'none' | 'default' | 'any';
  /** Narrows every list. */
  fieldSelector?: string;
}

export const resources: Readonly<Record<Kind, Resource>> = {
  EC2NodeClass: { group: 'karpenter.k8s.aws', version: 'v1', plural: 'ec2nodeclasses', namespace: 'none' },
  NodePool: { group: 'karpenter.sh', version: 'v1', plural: 'nodepools', namespace: 'none' },
  NodeClaim: { group: 'karpenter.sh', version: 'v1', plural: 'nodeclaims', namespace: 'none' },
  Node: { group: '', version: 'v1', plural: 'nodes', namespace: 'none' },
  Pod: {
    group: '',
    version: 'v1',
    plural: 'pods',
    namespace: 'any',
    // Finished Builds can outnumber the running ones by far.
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  },
  PodDisruptionBudget: { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets', namespace: 'any' },
  Lease: { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace: 'default' },
  // About nodes and classes, which have no namespace: theirs are in `default`. A Build's own are in its namespace.
  Event: { group: '', version: 'v1', plural: 'events', namespace: 'any' },
  // Read by a person's plan alone: no function may (infra/kubernetes/rbac.yaml).
  DaemonSet: { group: 'apps', version: 'v1', plural: 'daemonsets', namespace: 'any' },
  ReplicaSet: { group: 'apps', version: 'v1', plural: 'replicasets', namespace: 'any' },
  StatefulSet: { group: 'apps', version: 'v1', plural: 'statefulsets', namespace: 'any' },
  ServiceAccount: { group: '', version: 'v1', plural: 'serviceaccounts', namespace: 'any' },
};

export const apiVersion = ({ group, version }: Resource): string =>
  group === '' ? version : `${group}/${version}`;

/** The collection's path, across all namespaces where a kind is read so. */
export function pathOf(resource: Resource): string {
  const { group, plural, namespace } = resource;
  const root = group === '' ? '/api' : '/apis';
  const scope = namespace === 'default' ? '/namespaces/default' : '';
  return `${root}/${apiVersion(resource)}${scope}/${plural}`;
}

/** For people: `nodes`, `ec2nodeclasses.karpenter.k8s.aws`. */
export const wordFor = ({ group, plural }: Resource): string =>
  group === '' ? plural : `${plural}.${group}`;
