/** How a scenario's cluster looks when it begins: everything Ready, Initialized, and its hashes in place. */
import { HOLD_ANNOTATION } from '../../rollout/naming.ts';
import type { ClassControllers } from './class-controllers.ts';
import { hashOfClass } from './class-controllers.ts';
import type { ClaimConditions } from './drift.ts';
import type { Karpenter } from './karpenter.ts';
import type { Kubelets } from './kubelets.ts';
import { createOwners } from './owners.ts';
import { launchOptions, launchTags } from './lifecycle.ts';
import {
  buildNamespace,
  classHash,
  classHashVersion,
  doNotDisrupt,
  initializedLabel,
  registeredLabel,
  stamp,
  terminationFinalizer,
  unregisteredTaint,
} from './names.ts';
import { claimDraft, classDraft, nodeDraft, parkedDraft, poolDraft, zone } from './objects.ts';
import type { DisruptionBudgets } from './pdb.ts';
import {
  now,
  type ClassSpec,
  type NodeSpec,
  type PodSpec,
  type PoolSpec,
  type ServiceAccountSpec,
} from './types.ts';

/** Nodes are named in the order of their age: each is a minute younger than the one before. */
const oldestMs = 24 * 3_600_000;
const apart = 60_000;

/** Of no class: what was launched with it has drifted. */
const staleHash = '0';

/** As reasons of a NodeClaim that has drifted Karpenter has NodeClassDrift among them. */
const conditionTypes = ({ drifted }: NodeSpec): string[] => [
  'Launched',
  'Registered',
  'Initialized',
  'Ready',
  ...(drifted === true ? ['Drifted'] : []),
];

const nodeAnnotations = ({ doNotDisrupt: isProtected, hold }: NodeSpec): Record<string, string> => ({
  ...(isProtected === true ? { [doNotDisrupt]: 'true' } : {}),
  ...(hold === undefined || hold === null ? {} : { [HOLD_ANNOTATION]: hold }),
});

export interface StartState {
  addClass(name: string, spec?: ClassSpec): void;
  addPool(name: string, spec: PoolSpec): void;
  /** Launches its instance and returns the node's name: `<pool>-1`, `<pool>-2`, … where none is given. */
  addNode(spec: NodeSpec): string;
  /** A running pod that is no Build. */
  addPod(spec: PodSpec): void;
  /** Before the pods that run as it. */
  addServiceAccount(spec: ServiceAccountSpec): void;
  /** Like `rack add`: the Lease of that name, held by nobody. */
  addLease(name: string): void;
}

interface Parts {
  classes: ClassControllers;
  conditions: ClaimConditions;
  kubelets: Kubelets;
  budgets: DisruptionBudgets;
}

export function createStartState(karpenter: Karpenter, parts: Parts): StartState {
  const { world } = karpenter;
  const { store, machines, clock, chance } = world;
  const numbers = new Map<string, number>();
  const owners = createOwners(store);
  let added = 0;

  function addNode(spec: NodeSpec): string {
    const pool = store.get('NodePool', spec.pool);
    if (pool === undefined)
      throw new Error(`addNode: the cluster has no NodePool ${spec.pool}; add it first`);
    const nodeClass = store.get('EC2NodeClass', pool.spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined)
      throw new Error(`addNode: the NodePool ${spec.pool} refers to a class that is not there`);
    const name = spec.name ?? nextName(spec.pool);
    const cpu = String(spec.cpu ?? 4);
    const born = stamp(new Date(now(world) - (spec.ageMs ?? oldestMs - added * apart)));
    added += 1;
    const draft = claimDraft(pool, freeName(spec.pool), born);
    const ofClass = launchOptions(nodeClass);
    const hopLimit = spec.hopLimit ?? spec.httpPutResponseHopLimit;
    const { instanceId } = machines.launch({
      zone,
      tags: { ...launchTags(world.name, draft), Name: name, 'karpenter.sh/nodeclaim': draft.metadata.name },
      metadataOptions: {
        ...ofClass,
        ...(spec.httpTokens === undefined ? {} : { httpTokens: spec.httpTokens }),
        ...(hopLimit === undefined ? {} : { httpPutResponseHopLimit: hopLimit }),
        ...(spec.httpEndpoint === undefined ? {} : { httpEndpoint: spec.httpEndpoint }),
      },
    });
    const providerID = `aws:///${zone}/${instanceId}`;
    const at = stamp(clock.now());
    const claim = store.create('NodeClaim', {
      ...draft,
      metadata: {
        ...draft.metadata,
        // Whatever its options are: the hash says which class it was launched with, and only that.
        annotations: {
          ...draft.metadata.annotations,
          [classHash]: spec.drifted === true ? staleHash : hashOfClass(nodeClass, karpenter.hashVersion),
          [classHashVersion]: `v${karpenter.hashVersion}`,
        },
      },
      status: {
        providerID,
        nodeName: name,
        capacity: { cpu },
        conditions: conditionTypes(spec).map((type) => ({
          type,
          status: 'True' as const,
          reason: type === 'Drifted' ? 'NodeClassDrift' : type,
          message: '',
          lastTransitionTime: at,
          observedGeneration: 1,
        })),
      },
    });
    const node = nodeDraft(name, providerID, cpu, []);
    store.create('Node', {
      ...node,
      metadata: {
        ...node.metadata,
        creationTimestamp: born,
        finalizers: [terminationFinalizer],
        labels: {
          ...node.metadata.labels,
          ...claim.metadata.labels,
          [registeredLabel]: 'true',
          [initializedLabel]: 'true',
        },
        annotations: nodeAnnotations(spec),
      },
      spec: {
        ...node.spec,
        taints: [...(claim.spec.taints ?? [])].filter((taint) => taint.key !== unregisteredTaint.key),
        ...(spec.cordoned === true ? { unschedulable: true } : {}),
      },
    });
    parts.kubelets.setReady(name, spec.ready ?? true);
    parts.conditions.recordPodEvent(claim.metadata.name, now(world));
    return name;
  }

  function nextName(pool: string): string {
    for (;;) {
      const number = (numbers.get(pool) ?? 0) + 1;
      numbers.set(pool, number);
      if (store.get('Node', `${pool}-${number}`) === undefined) return `${pool}-${number}`;
    }
  }

  function freeName(pool: string): string {
    for (;;) {
      const name = `${pool}-${Math.floor(chance.next() * 36 ** 5)
        .toString(36)
        .padStart(5, '0')}`;
      if (store.get('NodeClaim', name) === undefined) return name;
    }
  }

  /** A controller names its pods apart; scenarios may call them alike. */
  function freePodName(name: string): string {
    let free = name;
    for (let number = 2; store.get('Pod', free) !== undefined; number += 1) free = `${name}-${number}`;
    return free;
  }

  function addPod(spec: PodSpec): void {
    const node = store.get('Node', spec.node);
    if (node === undefined) throw new Error(`addPod: the cluster has no node ${spec.node}; add it first`);
    const owner = owners.referenceOf(spec);
    // A pod that cannot be evicted has a budget, named after it where the scenario names none.
    const pdb = spec.pdb ?? (spec.evictable === false ? spec.name : null);
    const draft = parkedDraft(
      { ...spec, name: owner === undefined ? spec.name : freePodName(spec.name), pdb },
      node.metadata.labels?.['convox-build'] === 'true',
      owner,
      owners.environmentOf(spec),
    );
    store.create('Pod', draft);
    if (owner !== undefined) owners.own(owner, spec, draft.spec);
    const namespace = spec.namespace ?? buildNamespace;
    if (pdb !== null) parts.budgets.cover(pdb, namespace, { app: pdb }, spec.evictable ?? true);
  }

  return {
    addClass: (name, spec = {}) => {
      store.create('EC2NodeClass', classDraft(name, spec, clock.now()));
      parts.classes.settle(name);
      for (const pool of [...store.all('NodePool')]) parts.classes.settlePool(pool.metadata.name);
    },
    addPool: (name, spec) => {
      store.create('NodePool', poolDraft(name, spec));
      parts.classes.settlePool(name);
    },
    addNode,
    addPod,
    addServiceAccount: (spec) => {
      owners.addServiceAccount(spec);
    },
    addLease: (name) => {
      if (store.get('Lease', name) === undefined) {
        store.create('Lease', { kind: 'Lease', metadata: { name, namespace: 'default' }, spec: {} });
      }
    },
  };
}
