/** A cluster of one build node, as an API server answers: enough for a plan, and a record of every verb. */
import type { ApiClient } from '../adapters/cluster/api-client.ts';
import { NotFoundError } from '../rollout/errors.ts';

const meta = (name: string, more: object = {}) => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-03-02T09:00:00Z',
  ...more,
});

const hash = {
  'karpenter.k8s.aws/ec2nodeclass-hash': '1',
  'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v4',
};
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'build' };
const labels = { 'karpenter.sh/nodepool': 'build' };
const owner = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  name: 'castai-spot-handler',
  uid: 'ds',
  controller: true,
};
const spotHandler = {
  containers: [{ name: 'main', image: 'us-docker.pkg.dev/castai-hub/library/spot-handler:v0.19.0' }],
};

export function apiOf(instanceId: string): { client: ApiClient; verbs: string[] } {
  const providerID = `aws:///eu-west-1a/${instanceId}`;
  const nodeClass = {
    metadata: meta('build', { annotations: hash }),
    spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 2 } },
  };
  const lists: Record<string, object[]> = {
    nodepools: [{ metadata: meta('build'), spec: { template: { spec: { nodeClassRef } } } }],
    nodeclaims: [
      {
        metadata: meta('build-1', { labels, annotations: hash }),
        spec: { nodeClassRef },
        status: { providerID, nodeName: 'node-1' },
      },
    ],
    nodes: [{ metadata: meta('node-1', { labels }), spec: { providerID } }],
    pods: [
      {
        metadata: meta('castai-spot-handler-x', { namespace: 'castai-agent', ownerReferences: [owner] }),
        spec: { ...spotHandler, nodeName: 'node-1' },
        status: { phase: 'Running' },
      },
    ],
    daemonsets: [
      {
        metadata: { ...meta('castai-spot-handler', { namespace: 'castai-agent' }), uid: 'ds' },
        spec: { template: { spec: spotHandler } },
      },
    ],
  };
  const single: Record<string, object> = {
    'ec2nodeclasses/build': nodeClass,
    'leases/imds-rollout-build': { metadata: meta('imds-rollout-build'), spec: {} },
  };
  const verbs: string[] = [];
  return {
    verbs,
    client: async ({ verb, path }) => {
      verbs.push(verb);
      if (verb === 'list') return { items: lists[path.slice(path.lastIndexOf('/') + 1)] ?? [] };
      const found = single[path.split('/').slice(-2).join('/')];
      if (found === undefined) throw new NotFoundError(path);
      return found;
    },
  };
}
