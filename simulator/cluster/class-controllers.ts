/**
 * The controllers of the EC2NodeClass and of the NodePool's readiness. Status and hash are the work of two
 * controllers, so either may be first after an edit. Sources: karpenter-provider-aws pkg/controllers/nodeclass,
 * nodeclass/hash; karpenter pkg/controllers/nodepool/readiness.
 */
import { createHash } from 'node:crypto';
import type { Condition, EC2NodeClass, NodePool } from '../../rollout/kubernetes.ts';
import { conditionOf, setCondition, withCondition } from './conditions.ts';
import { canonical } from './json.ts';
import type { Karpenter } from './karpenter.ts';
import { classHash, classHashVersion } from './names.ts';

const subConditions = [
  'AMIsReady',
  'SubnetsReady',
  'SecurityGroupsReady',
  'InstanceProfileReady',
  'CapacityReservationsReady',
  'PlacementGroupReady',
  'ValidationSucceeded',
];

/** What the dry run of RunInstances answers where a policy refuses the options. */
const refusedReason = 'RunInstancesAuthCheckFailed';
const refusedMessage = "Controller isn't authorized to call ec2:RunInstances";

const dynamicFields: ReadonlySet<string> = new Set([
  'subnetSelectorTerms',
  'securityGroupSelectorTerms',
  'amiSelectorTerms',
  'capacityReservationSelectorTerms',
  'ipPrefixCount',
]);

/** EC2NodeClass.Hash: over the whole spec but what drifts dynamically, and calculated anew with each version. */
export function hashOfClass(nodeClass: EC2NodeClass, version: number): string {
  const spec = Object.fromEntries(
    Object.entries(nodeClass.spec).filter(([field]) => !dynamicFields.has(field)),
  );
  const digest = createHash('sha256')
    .update(`v${version}${canonical(spec)}`)
    .digest();
  return digest.readBigUInt64BE().toString();
}

export interface ClassControllers {
  /** The class as it stands before the scenario begins: Ready, hash in place. */
  settle(name: string): void;
  settlePool(name: string): void;
}

export function createClassControllers(karpenter: Karpenter): ClassControllers {
  const { world, process } = karpenter;
  const { store, chance, clock } = world;
  /** The spec with which each class was Ready at the start, as its hash. */
  const known = new Map<string, string>();

  function reconcileStatus(name: string): void {
    const nodeClass = store.get('EC2NodeClass', name);
    if (nodeClass === undefined) return;
    const refused =
      world.settings.classReady === 'never' &&
      known.has(name) &&
      known.get(name) !== hashOfClass(nodeClass, 0);
    store.update('EC2NodeClass', name, (current) => withStatus(current, refused, clock.now()));
  }

  function reconcileHash(name: string): void {
    const nodeClass = store.get('EC2NodeClass', name);
    if (nodeClass === undefined) return;
    const version = `v${karpenter.hashVersion}`;
    const hash = hashOfClass(nodeClass, karpenter.hashVersion);
    if (nodeClass.metadata.annotations?.[classHashVersion] !== version) restampClaims(name, hash, version);
    store.update('EC2NodeClass', name, (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        annotations: { ...current.metadata.annotations, [classHash]: hash, [classHashVersion]: version },
      },
    }));
  }

  /** The migration trap: a claim that is not yet Drifted takes the class's present hash, whatever it was launched with. */
  function restampClaims(className: string, hash: string, version: string): void {
    for (const claim of [...store.all('NodeClaim')]) {
      if (claim.spec.nodeClassRef.name !== className) continue;
      if (claim.metadata.annotations?.[classHashVersion] === version) continue;
      const drifted = conditionOf(claim, 'Drifted') !== undefined;
      store.update('NodeClaim', claim.metadata.name, (current) => ({
        ...current,
        metadata: {
          ...current.metadata,
          annotations: {
            ...current.metadata.annotations,
            ...(drifted ? {} : { [classHash]: hash }),
            [classHashVersion]: version,
          },
        },
      }));
    }
  }

  function schedule(name: string): void {
    const { classReady } = world.settings;
    const readyMs = classReady === 'never' ? 2_000 : classReady;
    process.after(readyMs * chance.between(0.8, 1.2), () => {
      reconcileStatus(name);
    });
    process.after(chance.between(100, readyMs * 1.5 + 500), () => {
      reconcileHash(name);
    });
  }

  function reconcilePool(name: string): void {
    const pool = store.get('NodePool', name);
    if (pool === undefined) return;
    const nodeClass = store.get('EC2NodeClass', pool.spec.template.spec.nodeClassRef.name);
    store.update('NodePool', name, (current) => withReadiness(current, nodeClass, clock.now()));
  }

  function schedulePools(className: string): void {
    for (const pool of store.all('NodePool')) {
      if (pool.spec.template.spec.nodeClassRef.name !== className) continue;
      const { name } = pool.metadata;
      process.after(chance.between(50, 500), () => {
        reconcilePool(name);
      });
    }
  }

  store.watch('EC2NodeClass', ({ before, after }) => {
    const name = (after ?? before)?.metadata.name ?? '';
    if (after !== undefined && after.metadata.generation !== before?.metadata.generation) schedule(name);
    const wasReady = before && conditionOf(before, 'Ready');
    const isReady = after && conditionOf(after, 'Ready');
    const leaves = before?.metadata.deletionTimestamp !== after?.metadata.deletionTimestamp;
    if (leaves || wasReady?.status !== isReady?.status || wasReady?.reason !== isReady?.reason)
      schedulePools(name);
  });

  // A pool that comes to refer to another class.
  store.watch('NodePool', ({ before, after }) => {
    if (before === undefined || after === undefined) return;
    const refersTo = ({ spec }: NodePool): string => spec.template.spec.nodeClassRef.name;
    if (refersTo(before) === refersTo(after)) return;
    process.after(chance.between(50, 500), () => {
      reconcilePool(after.metadata.name);
    });
  });

  process.onStart(() => {
    // Caches fill and the leader's lease is won before the first reconcile.
    for (const nodeClass of store.all('EC2NodeClass')) {
      const { name } = nodeClass.metadata;
      process.after(chance.between(1_000, 3_000), () => {
        schedule(name);
        schedulePools(name);
      });
    }
  });

  return {
    settle: (name) => {
      const nodeClass = store.get('EC2NodeClass', name);
      if (nodeClass === undefined) return;
      known.set(name, hashOfClass(nodeClass, 0));
      reconcileStatus(name);
      reconcileHash(name);
    },
    settlePool: reconcilePool,
  };
}

function withStatus(nodeClass: EC2NodeClass, refused: boolean, at: Date): EC2NodeClass {
  const observedGeneration = nodeClass.metadata.generation ?? 1;
  let conditions: Condition[] | undefined = nodeClass.status?.conditions;
  for (const type of subConditions) {
    const failed = refused && type === 'ValidationSucceeded';
    conditions = withCondition(
      conditions,
      failed
        ? { type, status: 'False', reason: refusedReason, message: refusedMessage, observedGeneration }
        : { type, status: 'True', reason: type, message: '', observedGeneration },
      at,
    );
  }
  conditions = withCondition(
    conditions,
    refused
      ? {
          type: 'Ready',
          status: 'False',
          reason: 'UnhealthyDependents',
          message: 'ValidationSucceeded=False',
          observedGeneration,
        }
      : { type: 'Ready', status: 'True', reason: 'Ready', message: '', observedGeneration },
    at,
  );
  if (conditions === nodeClass.status?.conditions) return nodeClass;
  return { ...nodeClass, status: { ...nodeClass.status, conditions } };
}

function withReadiness(pool: NodePool, nodeClass: EC2NodeClass | undefined, at: Date): NodePool {
  const observedGeneration = pool.metadata.generation ?? 1;
  const ready = nodeClass && conditionOf(nodeClass, 'Ready');
  const leaves = nodeClass?.metadata.deletionTimestamp !== undefined;
  const status = ready?.status === 'True' && !leaves ? 'True' : 'False';
  const why =
    nodeClass === undefined
      ? { reason: 'NodeClassNotFound', message: 'NodeClass not found on cluster' }
      : leaves
        ? { reason: 'NodeClassTerminating', message: 'NodeClass is Terminating' }
        : ready === undefined || ready.status === 'Unknown'
          ? { reason: 'NodeClassReadinessUnknown', message: 'Node Class Readiness Unknown' }
          : { reason: ready.reason ?? 'NodeClassReady', message: ready.message ?? '' };
  const positive = { reason: 'NodeClassReady', message: '' };
  const root =
    status === 'True'
      ? { reason: 'Ready', message: '' }
      : { reason: 'UnhealthyDependents', message: 'NodeClassReady=False' };
  const withClass = setCondition(
    pool,
    { type: 'NodeClassReady', status, ...(status === 'True' ? positive : why), observedGeneration },
    at,
  );
  return setCondition(withClass, { type: 'Ready', status, ...root, observedGeneration }, at);
}
