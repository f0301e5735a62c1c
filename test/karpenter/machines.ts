/** Build nodes as they are at one moment, each with its instance. */
import type { NodeClaim } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import type { Cluster } from '../../rollout/ports.ts';
import type { Ec2 } from './ec2.ts';

export interface Machine {
  claim: string;
  /** Absent before it registers. */
  node?: string;
  instanceId: string;
  /** `optional/2`. */
  options: string;
  applied: boolean;
  drifted: boolean;
  cordoned: boolean;
  protected: boolean;
}

/** All that there are, by their class. */
export type Machines = ReadonlyMap<string, Machine[]>;

export async function readMachines({ cluster, ec2 }: { cluster: Cluster; ec2: Ec2 }): Promise<Machines> {
  const [claims, nodes, instances] = await Promise.all([
    cluster.list('NodeClaim'),
    cluster.list('Node'),
    ec2.instances(),
  ]);
  const machineOf = (claim: NodeClaim): Machine[] => {
    const instanceId = (claim.status?.providerID ?? '').split('/').at(-1);
    const instance = instances.find(({ InstanceId }) => InstanceId === instanceId);
    if (instance === undefined) return [];
    // The claim learns its node's name after the node is there, and a Build may run in between.
    const node = nodes.find(({ spec }) => spec.providerID === claim.status?.providerID);
    const { HttpTokens, HttpPutResponseHopLimit, State } = instance.MetadataOptions;
    return [
      {
        claim: claim.metadata.name,
        ...(node !== undefined && { node: node.metadata.name }),
        instanceId: instance.InstanceId,
        options: `${HttpTokens}/${HttpPutResponseHopLimit}`,
        applied: State === 'applied',
        drifted: isTrue(claim, 'Drifted'),
        cordoned: node?.spec.unschedulable === true,
        protected: node?.metadata.annotations?.[DO_NOT_DISRUPT] === 'true',
      },
    ];
  };
  const byClass = Map.groupBy(claims, ({ spec }) => spec.nodeClassRef.name);
  return new Map([...byClass].map(([name, its]) => [name, its.flatMap(machineOf)]));
}

const isTrue = ({ status }: NodeClaim, type: string): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

/** The same reading for everybody who asks within a second: for onlookers, to whom an older one is as good. */
export function shared(read: () => Promise<Machines>): () => Promise<Machines> {
  let last: { at: number; machines: Promise<Machines> } | undefined;
  return () => {
    if (last === undefined || Date.now() - last.at >= 1000) last = { at: Date.now(), machines: read() };
    return last.machines;
  };
}
