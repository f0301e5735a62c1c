/** The simulator's cluster for the suite of its port: time stands still, so that no controller is at work. */
import { createSimulatedCluster } from '../../simulator/cluster/cluster.ts';
import type { ClusterSubject } from './cluster.ts';
import { closing, open } from './simulated-account.ts';

export async function simulatedCluster(): Promise<ClusterSubject> {
  const opened = await open();
  const { account, clock, chance, gate } = opened;
  const cluster = createSimulatedCluster({
    name: 'demo',
    clock,
    chance,
    machines: account.ec2.machines,
    gate,
    karpenter: { launchMs: 0, registerMs: 0, initializeMs: 0, capacity: 'ok', classReady: 0 },
  });
  return {
    port: cluster.port,
    addClass: async (name, options, manager) => {
      const { httpProtocolIPv6: _, ...fields } = options;
      cluster.addClass(name, { ...fields, owners: [{ manager, fields: Object.keys(fields) }] });
    },
    addPool: async (name, nodeClass) => {
      cluster.addPool(name, { class: nodeClass, consolidateAfterMs: null });
    },
    addNode: async (pool) => {
      const node = cluster.addNode({ pool });
      const claim = cluster.objects('NodeClaim').find(({ status }) => status?.nodeName === node);
      if (claim === undefined) throw new Error(`${node} has no NodeClaim`);
      return { node, claim: claim.metadata.name };
    },
    addLease: async (name) => {
      cluster.addLease(name);
    },
    startPod: async (name, node) => {
      cluster.addBuild({
        name,
        node,
        runsForMs: name === 'done' ? 1_000 : 3_600_000,
        ...(name === 'broken' && { usesImds: 'v1', usesImdsAtMs: 1_000 }),
      });
    },
    finishPod: () => opened.pass(5_000),
    failPod: async () => {
      // What a Build that calls IMDSv1 fails of.
      for (const { instanceId } of account.ec2.machines.all())
        account.ec2.modifyByHand(instanceId, { httpTokens: 'required' });
      await opened.pass(5_000);
    },
    apply: async (nodeClass, options, manager, force) => {
      const { httpProtocolIPv6: _, ...fields } = options;
      cluster.applyAs(manager, nodeClass, fields, force);
    },
    ...closing(opened),
  };
}
