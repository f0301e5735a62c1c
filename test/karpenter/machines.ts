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

/** How old a reading may be that is shared. */
const SHARED_MS = 500;

/**
 * One reading for everybody who looks at about the same time: many racks are waited for at once, and each reading is
 * of all of them. Never one that was begun before `since`, milliseconds since 1970.
 */
export function shared(read: () => Promise<Machines>): (since?: number) => Promise<Machines> {
  let last: { at: number; machines: Promise<Machines> } | undefined;
  return (since = 0) => {
    const now = Date.now();
    if (last === undefined || last.at < since || now - last.at >= SHARED_MS)
      last = { at: now, machines: read() };
    return last.machines;
  };
}
