/** Bake: a look at the canary, before the class is touched. */
import { failedAt, podName, selectorOf } from './builds.ts';
import { healthOf, type BakeLook, type FailedBuild } from './canary.ts';
import type { CanaryMark } from './canary-mark.ts';
import { count, oldestHold } from './counts.ts';
import { ForbiddenError, TransientError } from './errors.ts';
import { readFleet, type BuildNode, type Fleet } from './fleet.ts';
import { clusterTimeOf, happenings } from './happenings.ts';
import { PROTECT } from './hold.ts';
import { writeJournal, type Entry } from './journal.ts';
import { duePatches, keep } from './keep.ts';
import { canaryOf, chooseAgain, note } from './modify-canary.ts';
import { judge } from './options.ts';
import { phaseOf } from './phase.ts';
import type { Ports } from './ports.ts';
import { mayModify } from './progress.ts';
import { lastPatchOf, type RolloutRecord } from './record.ts';
import type { RunPorts, Running } from './run.ts';
import { conclude, putBackAndEnd, READY_LOOK_SECONDS, type Next, type Rolling } from './state.ts';
import { isStraggler } from './stragglers.ts';
import { table, type Wanted } from './table.ts';

export type BakePorts = RunPorts & Pick<Ports, 'instances' | 'reports' | 'metrics'>;

/** A look that could not read everything is taken again so soon. */
const RETRY_SECONDS = 20;

interface Canary {
  node: BuildNode;
  mark: CanaryMark;
}

/** One look of the bake; `markedAt` is when its canary was marked. */
export async function bakeLook(ports: BakePorts, running: Running, markedAt: string): Promise<Next> {
  const { ground, record, guard } = running;
  const { oldestHoldSince: _before, ...rest } = running.state;
  const isSelected = selectorOf(rest.policy);
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, isSelected);
  const now = ports.clock.now();
  const wanted = heldInBake(rest, fleet, record, now);
  await guard.check();
  const page = (entries: Entry[]): Promise<void> => writeJournal(ports, rest, 'holds', entries);
  await keep(ports, guard, duePatches(wanted, rest.execution, now), page);
  const events = await ground.cluster.list('Event');
  await writeJournal(ports, rest, 'observe', happenings(rest, fleet, events));
  const clusterTime = clusterTimeOf(fleet, events) ?? rest.clusterTime;
  const state: Rolling = {
    ...rest,
    counts: count(fleet, wanted, rest.target, undefined).counts,
    ...(clusterTime !== undefined && { clusterTime }),
    ...oldestHold(fleet),
    ...(fleet.instancesKnown && { wholeLookAt: now.toISOString() }),
  };
  const canaries = canaryOf(fleet, state.rack);
  const evidence = await evidenceOf(ports, running, canaries, markedAt);
  return judged(ports, state, fleet, { ...evidence, now, markedAt }, canaries);
}

type Evidence = Pick<BakeLook, 'rejected' | 'measured' | 'failed' | 'unknown'>;

async function judged(
  ports: BakePorts,
  state: Rolling,
  fleet: Fleet,
  { now, markedAt, ...evidence }: Evidence & Pick<BakeLook, 'now' | 'markedAt'>,
  canaries: readonly Canary[],
): Promise<Next> {
  const notInForce = fleet.instancesKnown
    ? canaries.filter(({ node }) => judge(state.target, node.instance) !== 'right')
    : [];
  const isInForce = fleet.instancesKnown && canaries.length > 0 && notInForce.length === 0;
  const bakingSince = state.canary?.bakingSince ?? (isInForce ? now.toISOString() : undefined);
  const canary = { ...state.canary, ...(bakingSince !== undefined && { bakingSince }) };
  const look: BakeLook = {
    ...evidence,
    now,
    markedAt,
    bake: state.policy.canary?.bake ?? 0,
    ...(bakingSince !== undefined && { bakingSince }),
    nodes: canaries.map(({ node }) => node.name),
    notInForce: notInForce.map(({ node }) => node.name),
    unknown: [...evidence.unknown, ...(fleet.instancesKnown ? [] : ['DescribeInstances did not answer'])],
  };
  const health = healthOf(look);
  switch (health.kind) {
    case 'vanished':
      return chooseAgain(ports, state);
    case 'unhealthy':
      await note(ports, state, `canary unhealthy: ${health.why}`);
      return putBackAndEnd(conclude(state, 'RolledBack', `canary unhealthy: ${health.why}`), now);
    case 'unproven': {
      const reason = `canary not proven 30 minutes after its bake: ${health.why}`;
      return putBackAndEnd(conclude(state, 'Failed', reason), now);
    }
    case 'healthy':
      await note(ports, state, `canary healthy: ${health.why}`);
      return {
        ...state,
        next: 'hold-and-patch',
        lookAgainIn: 0,
        canary: { ...canary, over: health.why },
        waitsFor: health.why,
      };
    case 'baking': {
      const stragglers = notInForce.some(({ node }) => isStraggler(state.target, node.instance));
      const modify = stragglers && mayModify(state, now);
      return {
        ...state,
        canary,
        next: modify ? 'modify-canary' : 'look',
        lookAgainIn: modify ? 0 : pause(look),
        waitsFor: health.waitsFor,
      };
    }
  }
}

/** Seconds to the next look: often while it begins, and just when the bake is over. */
function pause({ now, bake, bakingSince, unknown, notInForce }: BakeLook): number {
  if (unknown.length > 0) return RETRY_SECONDS;
  if (bakingSince === undefined) return READY_LOOK_SECONDS;
  if (notInForce.length > 0) return RETRY_SECONDS;
  const age = (now.getTime() - new Date(bakingSince).getTime()) / 1000;
  // What is not measured yet comes with CloudWatch's next datapoints.
  if (age >= bake) return RETRY_SECONDS;
  const usual = age < 300 ? 20 : age < 3600 ? 60 : 120;
  return Math.max(1, Math.min(usual, Math.ceil(bake - age)));
}

/**
 * The canary is protected, so that its evidence is not taken away; other nodes only keep the table where an earlier
 * rollout holds them, by what the class says now. Under strategy karpenter nothing is held.
 */
function heldInBake(state: Rolling, fleet: Fleet, record: RolloutRecord, now: Date): Wanted[] {
  if (state.policy.strategy === 'karpenter') return [];
  const { classPatchedAt, hashBefore } = record.canary ?? {};
  // How far Karpenter is with what an earlier rollout patched.
  const earlier: RolloutRecord = {
    schemaVersion: 1,
    baseline: {},
    holdsMayExist: true,
    ...(classPatchedAt !== undefined && { lastPatchAt: classPatchedAt }),
    ...(hashBefore !== undefined && { hashBefore }),
  };
  const phase = phaseOf(fleet, earlier, now);
  const canary = new Set(canaryOf(fleet, state.rack).map(({ node }) => node));
  const others = table({ fleet, target: {}, phase, patchedAt: lastPatchOf(earlier), now }).filter(
    ({ node }) => node.hold !== undefined && !canary.has(node),
  );
  return [...[...canary].map((node) => ({ node, want: PROTECT, why: 'it is a canary' })), ...others];
}

/** What CloudWatch and the cluster say of the canary since it was marked. What does not answer is unknown. */
async function evidenceOf(
  ports: BakePorts,
  { state, ground }: Running,
  canaries: readonly Canary[],
  markedAt: string,
): Promise<Evidence> {
  const unknown: string[] = [];
  const orUnknown = async <T>(what: string, none: T, read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof TransientError) && !(error instanceof ForbiddenError)) throw error;
      unknown.push(`${what}: ${error.message}`);
      return none;
    }
  };
  const counted = await orUnknown('MetadataNoTokenRejected could not be read', NOTHING_COUNTED(), () =>
    rejectionsOf(ports, state, canaries, markedAt),
  );
  const isSelected = selectorOf(state.policy);
  const failed = await orUnknown('failed pods could not be read', [], async () => {
    const found: FailedBuild[] = [];
    for (const { node } of canaries) {
      for (const pod of await ground.cluster.failedPods(node.name)) {
        const at = failedAt(pod, isSelected);
        // Kubernetes writes whole seconds.
        if (at !== undefined && Date.parse(at) >= Math.floor(Date.parse(markedAt) / 1000) * 1000)
          found.push({ build: podName(pod), node: node.name, at });
      }
    }
    return found;
  });
  return { ...counted, failed, unknown };
}

type Counted = Pick<BakeLook, 'rejected' | 'measured'>;
const NOTHING_COUNTED = (): Counted => ({ rejected: new Map(), measured: new Map() });

/** By node. Only where tokens have become required: before, nothing is rejected, and what was rejected anyway is no news. */
async function rejectionsOf(
  ports: BakePorts,
  { target }: Rolling,
  canaries: readonly Canary[],
  markedAt: string,
): Promise<Counted> {
  const tightened = canaries.filter(
    ({ mark }) => target.httpTokens === 'required' && mark.before.httpTokens === 'optional',
  );
  if (tightened.length === 0) return NOTHING_COUNTED();
  const found = await ports.metrics.rejections({
    instanceIds: tightened.map(({ mark }) => mark.instanceId),
    since: new Date(markedAt),
    until: ports.clock.now(),
  });
  const each = tightened.map(({ node, mark }) => ({ name: node.name, of: found.get(mark.instanceId) }));
  return {
    rejected: new Map(each.flatMap(({ name, of }) => (of === undefined ? [] : [[name, of.count]]))),
    measured: new Map(each.map(({ name, of }) => [name, of?.measured ?? []])),
  };
}
