/** The machines that a rack has and had, from snapshots of its cluster. Pure but for what it remembers. */
import type { MetadataOptions } from '../../../rollout/ec2.ts';
import type { EC2NodeClass, Node } from '../../../rollout/kubernetes.ts';
import type { Snapshot } from './sight.ts';

export interface Machine {
  instanceId: string;
  claim: string;
  claimUid: string;
  /** Karpenter's creation times are of whole seconds. */
  createdAt: string;
  launchedAt: string;
  /** Absent before it joins. */
  node?: string;
  isInitialized: boolean;
  isLeaving: boolean;
  options: Pick<MetadataOptions, 'httpTokens' | 'httpPutResponseHopLimit' | 'state'>;
  /** When it was first not there any more. */
  goneAt?: Date;
}

export interface Machines {
  /** By launch. */
  all(): Machine[];
  nodes(): readonly Node[];
  nodeClass(): EC2NodeClass | undefined;
  /** NodeClaims that have no instance yet. */
  launching(): number;
  take(snapshot: Snapshot): void;
}

export function followMachines(rack: string): Machines {
  const known = new Map<string, Machine>();
  let nodes: readonly Node[] = [];
  let nodeClass: EC2NodeClass | undefined;
  let launching = 0;

  const take = (snapshot: Snapshot): void => {
    const claims = snapshot.claims.filter(({ spec }) => spec.nodeClassRef.name === rack);
    launching = claims.filter(({ status }) => status?.providerID === undefined).length;
    nodeClass = snapshot.classes.find(({ metadata }) => metadata.name === rack);
    const there = new Set<string>();
    for (const { metadata, status } of claims) {
      const instanceId = status?.providerID?.split('/').at(-1);
      const instance = snapshot.instances.find(({ InstanceId }) => InstanceId === instanceId);
      if (instanceId === undefined || instance === undefined) continue;
      there.add(instanceId);
      // The claim learns its node's name after the node is there.
      const node = snapshot.nodes.find(({ spec }) => spec.providerID === status?.providerID);
      const { HttpTokens, HttpPutResponseHopLimit, State } = instance.MetadataOptions;
      known.set(instanceId, {
        ...known.get(instanceId),
        instanceId,
        claim: metadata.name,
        claimUid: metadata.uid,
        createdAt: metadata.creationTimestamp,
        launchedAt: new Date(instance.LaunchTime).toISOString(),
        ...(node !== undefined && { node: node.metadata.name }),
        isInitialized: (status?.conditions ?? []).some(
          (condition) => condition.type === 'Initialized' && condition.status === 'True',
        ),
        isLeaving: metadata.deletionTimestamp !== undefined,
        options: {
          httpTokens: HttpTokens === 'optional' ? 'optional' : 'required',
          httpPutResponseHopLimit: HttpPutResponseHopLimit,
          state: State === 'applied' ? 'applied' : 'pending',
        },
      });
    }
    for (const machine of known.values()) {
      if (!there.has(machine.instanceId)) machine.goneAt ??= snapshot.at;
    }
    const ours = new Set([...known.values()].map(({ node }) => node));
    nodes = snapshot.nodes.filter(({ metadata }) => ours.has(metadata.name));
  };
  return {
    all: () => [...known.values()],
    nodes: () => nodes,
    nodeClass: () => nodeClass,
    launching: () => launching,
    take,
  };
}
