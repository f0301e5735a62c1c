/** Where a rollout takes place: the registered cluster, the pool and the class that it refers to. */
import type { Cluster, Clusters, Records, Registration } from './ports.ts';
import type { EC2NodeClass, NodePool } from './kubernetes.ts';
import { refuse } from './refusals.ts';

export interface Ground {
  registration: Registration;
  cluster: Cluster;
  pool: NodePool;
  nodeClass: EC2NodeClass;
}

/**
 * `gone`: pool or class vanished, or is of a kind without metadataOptions. `refusal`: both are there, and the class
 * must not be written; holds are kept all the same. `leaves`: it must not since it is being deleted.
 */
export type GroundRead =
  | { kind: 'found'; ground: Ground; refusal?: string; leaves?: boolean }
  | { kind: 'gone'; why: string; cluster: Cluster };

const refersTo = (pool: NodePool, nodeClass: string): boolean =>
  pool.spec.template.spec.nodeClassRef.kind === 'EC2NodeClass' &&
  pool.spec.template.spec.nodeClassRef.name === nodeClass;

export async function registrationOf(
  ports: { records: Records },
  rack: string,
): Promise<{ registration?: Registration; others: Registration[] }> {
  const all = await ports.records.registrations();
  const registration = all.find((each) => each.rack === rack);
  return { ...(registration && { registration }), others: all.filter((each) => each.rack !== rack) };
}

/** Reads pool and class and refuses what would touch anybody else's nodes. Throws TransientError and ForbiddenError. */
export async function readGround(
  ports: { clusters: Clusters },
  registration: Registration,
  others: readonly Registration[],
): Promise<GroundRead> {
  const cluster = await ports.clusters.connect(registration.cluster);
  const pools = await cluster.list('NodePool');
  const pool = pools.find(({ metadata }) => metadata.name === registration.nodePool);
  const where = { cluster: registration.cluster };
  if (pool === undefined)
    return { kind: 'gone', why: refuse('noPool', { pool: registration.nodePool, ...where }), cluster };
  const { kind, name } = pool.spec.template.spec.nodeClassRef;
  if (kind !== 'EC2NodeClass') {
    return {
      kind: 'gone',
      why: refuse('otherKind', { pool: registration.nodePool, kind, nodeClass: name }),
      cluster,
    };
  }
  const nodeClass = await cluster.get('EC2NodeClass', name);
  if (nodeClass === undefined)
    return { kind: 'gone', why: refuse('noClass', { nodeClass: name, ...where }), cluster };
  const leaving = classLeaves(nodeClass);
  const refusal =
    leaving ??
    classOfAnotherRack(pools, registration, others, name) ??
    sharedClass(pools, pool, name) ??
    noHeadroom(pool);
  return {
    kind: 'found',
    ground: { registration, cluster, pool, nodeClass },
    ...(refusal !== undefined && { refusal }),
    ...(leaving !== undefined && { leaves: true }),
  };
}

/** Why a class must not be written: its deletion waits for its last NodeClaim, and another may come under its name. */
const classLeaves = ({ metadata }: EC2NodeClass): string | undefined =>
  metadata.deletionTimestamp === undefined
    ? undefined
    : refuse('classLeaves', { nodeClass: metadata.name, since: metadata.deletionTimestamp });

/** Why a class must not be written: other pools use it too. */
export function sharedClass(
  pools: readonly NodePool[],
  pool: NodePool,
  nodeClass: string,
): string | undefined {
  const sharing = pools
    .filter((other) => other !== pool && refersTo(other, nodeClass))
    .map(({ metadata }) => metadata.name);
  return sharing.length === 0
    ? undefined
    : refuse('sharedClass', { nodeClass, others: sharing.join(', '), pool: pool.metadata.name });
}

/** Why a class must not be written: it is another rack's. */
export function classOfAnotherRack(
  pools: readonly NodePool[],
  mine: Registration,
  others: readonly Registration[],
  nodeClass: string,
): string | undefined {
  const owner = others.find(
    ({ cluster, nodePool }) =>
      cluster === mine.cluster &&
      pools.some(
        ({ metadata, spec }) =>
          metadata.name === nodePool && refersTo({ metadata, spec, kind: 'NodePool' }, nodeClass),
      ),
  );
  return owner && refuse('classOfAnotherRack', { nodeClass, rack: owner.rack });
}

/** Why nodes of a pool cannot be replaced: a static one needs room for one more. */
export function noHeadroom(pool: NodePool): string | undefined {
  const { replicas, limits } = pool.spec;
  if (replicas === undefined || limits?.['nodes'] === undefined) return undefined;
  return Number(limits['nodes']) > replicas
    ? undefined
    : refuse('noHeadroom', {
        pool: pool.metadata.name,
        replicas: String(replicas),
        nodes: String(limits['nodes']),
      });
}

/** Whether the class has come to be used by another pool, which is looked at again before each write of it. */
export async function sharedNow({ cluster, pool, nodeClass }: Ground): Promise<string | undefined> {
  const pools = await cluster.list('NodePool');
  const here = pools.find(({ metadata }) => metadata.name === pool.metadata.name) ?? pool;
  return sharedClass(pools, here, nodeClass.metadata.name);
}
