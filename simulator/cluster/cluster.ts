/** The simulated EKS cluster: API server, Karpenter, schedulers, kubelets and Builds, wired together. */
import type { Kind, ObjectsByKind } from '../../rollout/kubernetes.ts';
import type { Cluster } from '../../rollout/ports.ts';
import { createApiServer, type ApiServer } from './api-server.ts';
import { createBuilds } from './builds.ts';
import { createClassControllers } from './class-controllers.ts';
import { createCommands } from './commands.ts';
import { isTrue } from './conditions.ts';
import { createControllerManager } from './controller-manager.ts';
import { createDisruption } from './disruption.ts';
import { createClaimConditions } from './drift.ts';
import { Events } from './events.ts';
import { createHands, type Hands } from './hands.ts';
import { createKarpenter, isDeleting } from './karpenter.ts';
import { createKubelets } from './kubelets.ts';
import { createLifecycle } from './lifecycle.ts';
import { createDisruptionBudgets } from './pdb.ts';
import { createPoolCounter } from './pool-counter.ts';
import { createProvisioner } from './provisioning.ts';
import { createNodeRepair } from './repair.ts';
import { createScheduler } from './scheduler.ts';
import { createStartState, type StartState } from './start-state.ts';
import { createStaticPools } from './static-pools.ts';
import { Store } from './store.ts';
import { createTermination } from './termination.ts';
import type { BuildSpec, ClusterOptions, SimulatedBuildReport, World } from './types.ts';

export interface SimulatedCluster extends StartState, Hands {
  /** The API server as the service's own user sees it. */
  readonly port: Cluster;
  editClass: ApiServer['editClass'];
  applyAs: ApiServer['applyAs'];
  /** With a node it is bound and running there, else a Pending Build appears. */
  addBuild(build: BuildSpec): void;
  /** Live objects, not copies: to read. Finished pods included. */
  objects<K extends Kind>(kind: K): ObjectsByKind[K][];
  object<K extends Kind>(kind: K, name: string): ObjectsByKind[K] | undefined;
  builds(): SimulatedBuildReport[];
  /** A node is being launched or terminated, or a Build is unfinished. */
  busy(): boolean;
  /** When anything but an Event last changed. */
  changedAt(): Date;
  /** Called after every such change, at once: it must not write. */
  onChange(listener: () => void): void;
}

export function createSimulatedCluster(options: ClusterOptions): SimulatedCluster {
  const { name, clock, chance, machines, gate } = options;
  const store = new Store(clock, chance);
  const world: World = {
    name,
    clock,
    chance,
    machines,
    store,
    settings: options.karpenter,
    startedAt: clock.now().getTime(),
  };
  const events = new Events(world);
  const api = createApiServer(world, gate, events, options.clockAheadMs ?? 0);
  const karpenter = createKarpenter(world, events);
  const kubelets = createKubelets(world);
  const budgets = createDisruptionBudgets(world);
  const builds = createBuilds(world, kubelets);
  createControllerManager(world, kubelets);
  createScheduler(world, events, options.bindingLagMs);
  const classes = createClassControllers(karpenter);
  const conditions = createClaimConditions(karpenter);
  const lifecycle = createLifecycle(karpenter, (claim, joinsInMs) => {
    kubelets.boot(claim, joinsInMs);
  });
  const commands = createCommands(karpenter, (pool) => lifecycle.createClaim(pool));
  createProvisioner(karpenter, (pool) => lifecycle.createClaim(pool));
  createStaticPools(karpenter, (poolName) => {
    const pool = store.get('NodePool', poolName);
    if (pool !== undefined) lifecycle.createClaim(pool);
  });
  createPoolCounter(karpenter);
  createTermination(karpenter, budgets, kubelets);
  createDisruption(karpenter, budgets, commands);
  if (options.karpenter.nodeRepair === true) createNodeRepair(karpenter);

  let movingAt = { revision: -1, moving: false };
  /** Asked at every instant of a run: looked at again only where something changed. */
  function isMoving(): boolean {
    if (commands.active()) return true;
    if (movingAt.revision !== store.revision)
      movingAt = { revision: store.revision, moving: hasMovingClaim() };
    return movingAt.moving;
  }

  function hasMovingClaim(): boolean {
    for (const claim of store.all('NodeClaim'))
      if (!isTrue(claim, 'Initialized') || isDeleting(karpenter, claim)) return true;
    return false;
  }

  return {
    ...createStartState(karpenter, { classes, conditions, kubelets, budgets }),
    ...createHands(karpenter, kubelets, lifecycle),
    port: api.port,
    editClass: api.editClass,
    applyAs: api.applyAs,
    addBuild: (build) => {
      builds.add(build);
    },
    objects: (kind) => [...store.all(kind)],
    object: (kind, objectName) => store.get(kind, objectName),
    builds: () => builds.reports(),
    busy: () => builds.unfinished() || isMoving(),
    changedAt: () => store.changedAt,
    onChange: (listener) => {
      store.onChange(listener);
    },
  };
}
