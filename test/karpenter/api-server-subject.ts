/** A real API server for the suite of the port, and an administrator's hands. No controller is at work on it. */
import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { systemClock } from '../../adapters/clock.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import type { NodeClassMetadataOptions } from '../../rollout/kubernetes.ts';
import type { ClusterSubject } from '../contract/cluster.ts';
import { launchable } from '../contract/launchable.ts';
import { clientOf, type users } from './control-plane.ts';
import { verbsOf } from './verbs.ts';

const classes = '/apis/karpenter.k8s.aws/v1/ec2nodeclasses';
const claims = '/apis/karpenter.sh/v1/nodeclaims';
const pools = '/apis/karpenter.sh/v1/nodepools';
const nodes = '/api/v1/nodes';
const pods = '/api/v1/namespaces/default/pods';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const events = '/api/v1/namespaces/default/events';

export async function apiServer(user: keyof typeof users = 'admin'): Promise<ClusterSubject> {
  const plane = inject('controlPlane');
  const admin = clientOf(plane, 'admin');
  const { create: post, ...verbs } = verbsOf(admin);

  const apply = async (
    name: string,
    metadataOptions: NodeClassMetadataOptions,
    manager: string,
    force = false,
  ): Promise<void> => {
    const body = {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name },
      spec: {
        ...launchable,
        metadataOptions,
      },
    };
    await verbs.apply(`${classes}/${name}`, body, manager, force);
  };
  const phase = async (name: string, is: string): Promise<void> => {
    await verbs.merge(`${pods}/${name}/status`, { status: { phase: is } });
  };
  const nodeClassRef = (name: string) => ({ group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name });

  return {
    port: createCluster(clientOf(plane, user), systemClock),
    addClass: (name, options, manager) => apply(name, options, manager),
    addPool: async (name, nodeClass) => {
      const template = { spec: { nodeClassRef: nodeClassRef(nodeClass), requirements: [] } };
      await post(pools, {
        metadata: { name },
        kind: 'NodePool',
        apiVersion: 'karpenter.sh/v1',
        spec: { template },
      });
    },
    addNode: async (pool) => {
      const id = randomUUID().slice(0, 5);
      const labels = { 'karpenter.sh/nodepool': pool };
      const [claim, node] = [`${pool}-${id}`, `node-${id}`];
      await post(claims, {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name: claim, labels },
        spec: { nodeClassRef: nodeClassRef(pool), requirements: [] },
      });
      await post(nodes, {
        metadata: { name: node, labels },
        spec: { providerID: `aws:///eu-west-1a/i-${id}` },
      });
      return { node, claim };
    },
    addLease: async (name) => {
      await post(leases, { metadata: { name } });
    },
    startPod: async (name, nodeName) => {
      await post(pods, {
        metadata: { name },
        spec: { nodeName, containers: [{ name: 'build', image: 'busybox' }] },
      });
      await phase(name, 'Running');
    },
    finishPod: (name) => phase(name, 'Succeeded'),
    failPod: (name) => phase(name, 'Failed'),
    apply,
    async [Symbol.asyncDispose]() {
      // The API server keeps Leases of its own, elsewhere.
      for (const path of [pods, nodes, claims, pools, classes, leases, events]) await verbs.clear(path);
    },
  };
}
