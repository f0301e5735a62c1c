/** What owns the pods that a scenario begins with, and as whom they run: controllers and service accounts, to be read. */
import type { OwnerReference, PodSpec as RunningSpec } from '../../rollout/kubernetes.ts';
import { buildNamespace } from './names.ts';
import type { Store } from './store.ts';
import type { PodSpec, ServiceAccountSpec } from './types.ts';

const APPS = 'apps/v1';

const versions: Record<string, string> = {
  DaemonSet: APPS,
  StatefulSet: APPS,
  ReplicaSet: APPS,
  ReplicationController: 'v1',
  Job: 'batch/v1',
  Node: 'v1',
};

export interface Owners {
  addServiceAccount(spec: ServiceAccountSpec): void;
  /** What a pod as whom it runs finds in its environment: EKS's webhooks put it there when the pod is made. */
  environmentOf(spec: PodSpec): { name: string; value: string }[];
  /** The reference to what owns the pod; undefined where nobody does. */
  referenceOf(spec: PodSpec): OwnerReference | undefined;
  /** Makes what owns the pod, or counts one pod more of it. */
  own(reference: OwnerReference, spec: PodSpec, running: RunningSpec): void;
}

export function createOwners(store: Store): Owners {
  const serviceAccounts = new Map<string, ServiceAccountSpec>();
  const key = (namespace = buildNamespace, name = 'default'): string => `${namespace}/${name}`;

  function addReplicas(reference: OwnerReference, spec: PodSpec): void {
    const kind = reference.kind === 'StatefulSet' ? 'StatefulSet' : 'ReplicaSet';
    const { name, uid } = reference;
    if (store.get(kind, name) === undefined) {
      const deployment = spec.ownedBy === 'Deployment' ? [deploymentOf(spec)] : [];
      store.create(kind, {
        kind,
        metadata: { name, uid, namespace: spec.namespace ?? buildNamespace, ownerReferences: deployment },
        spec: { replicas: spec.replicas ?? 1 },
      });
    } else if (spec.replicas === undefined) {
      store.update(kind, name, (set) => ({ ...set, spec: { replicas: (set.spec.replicas ?? 1) + 1 } }));
    }
  }

  return {
    addServiceAccount(spec) {
      serviceAccounts.set(key(spec.namespace, spec.name), spec);
      store.create('ServiceAccount', {
        kind: 'ServiceAccount',
        metadata: {
          name: spec.name,
          uid: `service-account-${spec.name}`,
          namespace: spec.namespace ?? buildNamespace,
          ...(spec.role === undefined ? {} : { annotations: { 'eks.amazonaws.com/role-arn': spec.role } }),
        },
      });
    },
    environmentOf(spec) {
      const account = serviceAccounts.get(key(spec.namespace, spec.serviceAccount));
      if (account?.role !== undefined) {
        return [
          { name: 'AWS_ROLE_ARN', value: account.role },
          {
            name: 'AWS_WEB_IDENTITY_TOKEN_FILE',
            value: '/var/run/secrets/eks.amazonaws.com/serviceaccount/token',
          },
        ];
      }
      return account?.podIdentity === true
        ? [{ name: 'AWS_CONTAINER_CREDENTIALS_FULL_URI', value: 'http://169.254.170.23/v1/credentials' }]
        : [];
    },
    referenceOf(spec) {
      const kind = spec.ownedBy ?? undefined;
      if (kind === undefined) return undefined;
      const name = ownerName(spec);
      const uid = `owner-${name}`;
      if (kind === 'Node') return { apiVersion: 'v1', kind, name: spec.node, uid, controller: true };
      const owner = { name: kind === 'Deployment' ? `${name}-7d9c5b8f6` : name, uid, controller: true };
      return kind === 'Deployment'
        ? { apiVersion: APPS, kind: 'ReplicaSet', ...owner }
        : { apiVersion: versions[kind] ?? 'example.com/v1', kind, ...owner };
    },
    own(reference, spec, running) {
      if (reference.kind === 'ReplicaSet' || reference.kind === 'StatefulSet') addReplicas(reference, spec);
      if (reference.kind !== 'DaemonSet' || store.get('DaemonSet', reference.name) !== undefined) return;
      const { nodeName: _, ...template } = running;
      const { name, uid } = reference;
      store.create('DaemonSet', {
        kind: 'DaemonSet',
        metadata: { name, uid, namespace: spec.namespace ?? buildNamespace },
        spec: { template: { spec: template } },
      });
    },
  };
}

const ownerName = ({ owner, name }: PodSpec): string => owner ?? name.replace(/-[^-]*$/, '');

const deploymentOf = (spec: PodSpec): OwnerReference => ({
  apiVersion: APPS,
  kind: 'Deployment',
  name: ownerName(spec),
  uid: `deployment-${ownerName(spec)}`,
  controller: true,
});
