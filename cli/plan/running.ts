/** Reads who runs what on build nodes, and as whom. */
import type { BuildNode, Fleet } from '../../rollout/fleet.ts';
import type { Plan } from '../../rollout/journal.ts';
import { singleReplicas, workloadsOf, type SingleReplica, type Workload } from '../../rollout/workloads.ts';
import type { Look } from './one-look.ts';
import type { Afterwards } from './reachable.ts';
import type { Seen } from './seen.ts';

export async function readWorkloads(
  look: Look,
  { ground: { cluster, pool }, registration, fleet }: Seen & { fleet: Fleet },
  after: Afterwards,
): Promise<Workload[]> {
  const [daemonSets, replicaSets, serviceAccounts, associations] = await Promise.all([
    look.list('DaemonSets whose pods are still to come', cluster, 'DaemonSet'),
    look.list('which Deployment a pod belongs to, and which has a single replica', cluster, 'ReplicaSet'),
    look.list('whether a service account names a role (IRSA)', cluster, 'ServiceAccount'),
    look.attempt('who gets credentials from EKS Pod Identity', 'eks:ListPodIdentityAssociations', () =>
      look.ports.podIdentities.list(registration.cluster),
    ),
  ]);
  return workloadsOf({
    nodes: staying(fleet.nodes),
    pool,
    controllers: { daemonSets, replicaSets, serviceAccounts, associations },
    after: after.of,
    nodeClass: after.nodeClass,
  });
}

/** null where either kind may not be listed: half of the names would read as all of them. */
export async function readSingleReplicas(
  look: Look,
  { ground: { cluster } }: Seen,
  fleet: Fleet,
  plan: Plan,
): Promise<SingleReplica[] | null> {
  const [replicaSets, statefulSets] = await Promise.all([
    look.list('which Deployment a pod belongs to, and which has a single replica', cluster, 'ReplicaSet'),
    look.list('which StatefulSet has a single replica', cluster, 'StatefulSet'),
  ]);
  if (replicaSets === null || statefulSets === null) return null;
  const moving = new Set(plan.nodes.flatMap(({ node, fate }) => (fate === 'untouched' ? [] : [node])));
  return singleReplicas(
    staying(fleet.nodes).filter(({ name }) => moving.has(name)),
    { replicaSets, statefulSets },
  );
}

/** What leaves already leaves whatever happens. */
const staying = (nodes: readonly BuildNode[]): BuildNode[] => nodes.filter(({ leaving }) => !leaving);
