/**
 * A NodeClaim from its creation until it is Initialized, its liveness time-outs and its expiry. Sources: karpenter
 * pkg/controllers/nodeclaim/lifecycle and expiration; provider's pkg/cloudprovider and nodeclaim/tagging.
 */
import type { EC2NodeClass, Node, NodeClaim, NodePool, Taint } from '../../rollout/kubernetes.ts';
import type { EndedBy, Machines } from '../parts.ts';
import { hashOfClass } from './class-controllers.ts';
import { conditionOf, isTrue, setCondition, transitionOf } from './conditions.ts';
import { deleteClaim, type Karpenter } from './karpenter.ts';
import {
  classHash,
  classHashVersion,
  cpuOf,
  initializedLabel,
  nodeClassLabel,
  nodePoolLabel,
  parseGoDuration,
  registeredLabel,
  sameTaint,
  terminationFinalizer,
  unregisteredTaint,
} from './names.ts';
import { claimDraft, zone } from './objects.ts';
import { claimCpu, launchedCpu } from './placement.ts';
import { now } from './types.ts';

const launchTimeoutMs = 5 * 60_000;
const registrationTimeoutMs = 15 * 60_000;
/** Timers of Node and its fakes take no longer ones; no scenario runs for so long either. */
const longestTimerMs = 20 * 86_400_000;
/** What a claim's instance ends by where Karpenter gives it up: forceful and not a rollout's doing, like expiry. */
const gaveUp: EndedBy = 'expiry';

export interface Lifecycle {
  /** The claim's name; undefined where the pool uses more than its limits already. */
  createClaim(pool: NodePool): string | undefined;
}

type LaunchOptions = Parameters<Machines['launch']>[0]['metadataOptions'];

/** Metadata options as Karpenter writes them into the launch template: all four, whatever the account's defaults. */
export function launchOptions(nodeClass: EC2NodeClass): LaunchOptions {
  const options = nodeClass.spec.metadataOptions;
  return {
    httpTokens: options?.httpTokens ?? 'required',
    httpPutResponseHopLimit: options?.httpPutResponseHopLimit ?? 1,
    httpEndpoint: options?.httpEndpoint ?? 'enabled',
    httpProtocolIpv6: options?.httpProtocolIPv6 ?? 'disabled',
    instanceMetadataTags: 'disabled',
  };
}

export function launchTags(
  cluster: string,
  claim: { metadata: { labels?: Record<string, string> } },
): Record<string, string> {
  return {
    [`kubernetes.io/cluster/${cluster}`]: 'owned',
    'eks:eks-cluster-name': cluster,
    [nodePoolLabel]: claim.metadata.labels?.[nodePoolLabel] ?? '',
    [nodeClassLabel]: claim.metadata.labels?.[nodeClassLabel] ?? '',
  };
}

export function createLifecycle(
  karpenter: Karpenter,
  /** The instance boots: its kubelet joins after so long. */
  boot: (claim: NodeClaim, joinsInMs: number) => void,
): Lifecycle {
  const { world, process, events } = karpenter;
  const { store, chance, clock, machines, settings } = world;
  /** Claims with a CreateFleet call in flight. A process that stops forgets them, and leaks their instances. */
  const launching = new Set<string>();
  const retries = new Map<string, number>();

  const about = (milliseconds: number): number => milliseconds * chance.between(0.85, 1.15);

  const withTrue = (claim: NodeClaim, type: string): NodeClaim =>
    setCondition(
      claim,
      { type, status: 'True', reason: type, message: '', observedGeneration: claim.metadata.generation ?? 1 },
      clock.now(),
    );

  function createClaim(pool: NodePool): string | undefined {
    const limit = pool.spec.limits?.['cpu'];
    if (limit !== undefined) {
      let used = 0;
      for (const claim of store.claimsOf(pool.metadata.name)) used += claimCpu(karpenter, claim);
      // "Exceeded", not "reached": a replacement for a drifted node may overshoot a limit that is just used up.
      if (used > cpuOf(limit)) return undefined;
    }
    const name = freeName(pool.metadata.name);
    store.create('NodeClaim', {
      ...claimDraft(pool, name),
      status: {
        conditions: ['Launched', 'Registered', 'Initialized'].map((type) => ({
          type,
          status: 'Unknown' as const,
          reason: 'AwaitingReconciliation',
          message: 'object is awaiting reconciliation',
          lastTransitionTime: clock.now().toISOString(),
          observedGeneration: 1,
        })),
      },
    });
    return name;
  }

  function freeName(pool: string): string {
    for (;;) {
      const name = `${pool}-${Math.floor(chance.next() * 36 ** 5)
        .toString(36)
        .padStart(5, '0')}`;
      if (store.get('NodeClaim', name) === undefined) return name;
    }
  }

  function reconcile(name: string): void {
    const claim = store.get('NodeClaim', name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    if (!isTrue(claim, 'Launched')) {
      launch(claim);
      return;
    }
    const node = store.nodeOf(claim);
    if (node === undefined) return;
    if (!isTrue(claim, 'Registered')) register(claim, node);
    else if (!isTrue(claim, 'Initialized') && isTrue(node, 'Ready')) initialize(claim, node);
  }

  function launch(claim: NodeClaim): void {
    const { name } = claim.metadata;
    if (launching.has(name)) return;
    const nodeClass = store.get('EC2NodeClass', claim.spec.nodeClassRef.name);
    const ready = nodeClass && conditionOf(nodeClass, 'Ready');
    if (nodeClass === undefined) {
      giveUp(claim, 'InsufficientCapacityError', 'resolving nodeclass, not found');
      return;
    }
    const leaves = nodeClass.metadata.deletionTimestamp !== undefined;
    if (leaves || ready?.status === 'False' || ready?.observedGeneration !== nodeClass.metadata.generation) {
      const why = leaves
        ? 'nodeclass is terminating, treating as not found'
        : ready?.status === 'False'
          ? (ready.message ?? '')
          : 'nodeclass status has not been reconciled against the latest spec';
      giveUp(claim, undefined, why);
      return;
    }
    launching.add(name);
    if (!hasCapacity()) {
      process.after(about(3_000), () => {
        launching.delete(name);
        const message =
          'creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not have sufficient capacity in the Availability Zone you requested';
        const current = store.get('NodeClaim', name);
        if (current !== undefined) giveUp(current, 'InsufficientCapacityError', message);
      });
      return;
    }
    // The launch template has the options of this moment; the instance is in EC2 well before the claim says so.
    const hash = hashOfClass(nodeClass, karpenter.hashVersion);
    const version = `v${karpenter.hashVersion}`;
    let instanceId: string;
    try {
      const tags = launchTags(world.name, claim);
      ({ instanceId } = machines.launch({ zone, tags, metadataOptions: launchOptions(nodeClass) }));
    } catch (error) {
      launching.delete(name);
      launchFailed(name, error);
      return;
    }
    process.after(about(settings.launchMs), () => {
      launching.delete(name);
      const launched = store.update('NodeClaim', name, (current) => {
        const marked = withTrue(current, 'Launched');
        return {
          ...marked,
          metadata: {
            ...current.metadata,
            annotations: { ...current.metadata.annotations, [classHash]: hash, [classHashVersion]: version },
          },
          status: {
            ...marked.status,
            providerID: `aws:///${zone}/${instanceId}`,
            capacity: { cpu: String(launchedCpu(karpenter)) },
          },
        };
      });
      if (launched === undefined) machines.terminate(instanceId, gaveUp);
      else boot(launched, about(settings.registerMs));
    });
  }

  function hasCapacity(): boolean {
    if (settings.capacity === 'ok') return true;
    return settings.capacity !== 'none' && now(world) - world.startedAt >= settings.capacity.afterMs;
  }

  function giveUp(claim: NodeClaim, reason: string | undefined, message: string): void {
    if (reason !== undefined) {
      events.publish({
        type: 'Warning',
        reason,
        message: `NodeClaim ${claim.metadata.name} event: ${message.length < 300 ? message : `${message.slice(0, 300)}...`}`,
        about: claim,
      });
    }
    deleteClaim(karpenter, claim, gaveUp);
  }

  /** Neither capacity nor readiness: tried again with growing pauses until the launch times out. */
  function launchFailed(name: string, error: unknown): void {
    const message = `creating instance, ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
    store.update('NodeClaim', name, (current) =>
      setCondition(
        current,
        { type: 'Launched', status: 'Unknown', reason: 'LaunchFailed', message, observedGeneration: 1 },
        clock.now(),
      ),
    );
    const attempt = retries.get(name) ?? 0;
    retries.set(name, attempt + 1);
    later(name, Math.min(60_000, 1_000 * 2 ** attempt));
  }

  function register(claim: NodeClaim, node: Node): void {
    const { name, labels, annotations } = claim.metadata;
    store.update('Node', node.metadata.name, (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        labels: { ...current.metadata.labels, ...labels, [registeredLabel]: 'true' },
        // What was put on the claim before, a do-not-disrupt too, comes to the node here, and only here.
        annotations: { ...current.metadata.annotations, ...annotations },
        finalizers: [...(current.metadata.finalizers ?? []), terminationFinalizer],
      },
      spec: { ...current.spec, taints: registeredTaints(current.spec.taints, claim.spec.taints) },
    }));
    store.update('NodeClaim', name, (current) => {
      const registered = withTrue(current, 'Registered');
      return { ...registered, status: { ...registered.status, nodeName: node.metadata.name } };
    });
    process.after(chance.between(1_000, 3_000), () => {
      tag(name);
    });
    later(name, about(settings.initializeMs));
  }

  function tag(name: string): void {
    const claim = store.get('NodeClaim', name);
    const instanceId = claim?.status?.providerID?.split('/').at(-1);
    if (claim === undefined || instanceId === undefined || machines.get(instanceId) === undefined) return;
    machines.addTags(instanceId, { Name: claim.status?.nodeName ?? '', 'karpenter.sh/nodeclaim': name });
  }

  function initialize(claim: NodeClaim, node: Node): void {
    const since = Date.parse(conditionOf(claim, 'Registered')?.lastTransitionTime ?? '');
    // The last of it: startup taints and extended resources take their time after the node is Ready.
    const left = since + settings.initializeMs * 0.85 - now(world);
    if (left > 1_000) return;
    store.update('Node', node.metadata.name, (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, [initializedLabel]: 'true' } },
    }));
    store.update('NodeClaim', claim.metadata.name, (current) =>
      withTrue(withTrue(current, 'Initialized'), 'Ready'),
    );
  }

  function later(name: string, milliseconds: number): void {
    process.after(milliseconds, () => {
      reconcile(name);
    });
  }

  function watchTimes(claim: NodeClaim): void {
    const { name, creationTimestamp } = claim.metadata;
    const at = (time: number, action: (current: NodeClaim) => void): void => {
      const left = time - now(world);
      if (left > longestTimerMs) return;
      process.after(Math.max(0, left), () => {
        const current = store.get('NodeClaim', name);
        if (current !== undefined && current.metadata.deletionTimestamp === undefined) action(current);
      });
    };
    const created = Date.parse(creationTimestamp);
    if (!isTrue(claim, 'Registered')) {
      at(created + launchTimeoutMs, (current) => {
        if (!isTrue(current, 'Launched')) deleteClaim(karpenter, current, gaveUp);
      });
      at(Math.max(transitionOf(claim, 'Registered'), created) + registrationTimeoutMs, (current) => {
        if (!isTrue(current, 'Registered')) deleteClaim(karpenter, current, gaveUp);
      });
    }
    const expireAfter = parseGoDuration(claim.spec.expireAfter ?? 'Never');
    if (expireAfter === undefined) return;
    at(created + expireAfter, (current) => {
      deleteClaim(karpenter, current, 'expiry');
    });
  }

  store.watch('NodeClaim', ({ before, after }) => {
    if (after === undefined) {
      if (before !== undefined) retries.delete(before.metadata.name);
      return;
    }
    if (before !== undefined) return;
    watchTimes(after);
    if (!isTrue(after, 'Launched')) later(after.metadata.name, chance.between(100, 1_000));
  });
  store.watch('Node', ({ before, after }) => {
    if (after === undefined) return;
    const becameReady = isTrue(after, 'Ready') && !(before !== undefined && isTrue(before, 'Ready'));
    if (before !== undefined && !becameReady) return;
    const claim = store.claimOf(after);
    if (claim !== undefined && !isTrue(claim, 'Initialized'))
      later(claim.metadata.name, chance.between(300, 2_000));
  });
  process.onStop(() => {
    launching.clear();
  });
  process.onStart(() => {
    for (const claim of store.all('NodeClaim')) {
      watchTimes(claim);
      if (!isTrue(claim, 'Initialized')) later(claim.metadata.name, chance.between(2_000, 4_000));
    }
  });

  return { createClaim };
}

function registeredTaints(
  present: readonly Taint[] | undefined,
  wanted: readonly Taint[] | undefined,
): Taint[] {
  const kept = (present ?? []).filter((taint) => !sameTaint(taint, unregisteredTaint));
  return [...kept, ...(wanted ?? []).filter((taint) => !kept.some((other) => sameTaint(other, taint)))];
}
