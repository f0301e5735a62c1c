/** Observe: one look. Read everything, keep the table, say what comes next and when. */
import { bakeLook, type BakePorts } from './bake.ts';
import { selectorOf } from './builds.ts';
import { isCanaryDue } from './canary.ts';
import { markPatch } from './canary-mark.ts';
import { count, oldestHold } from './counts.ts';
import { readFleet, type Fleet } from './fleet.ts';
import { clusterTimeOf, happenings } from './happenings.ts';
import { NOTHING } from './hold.ts';
import { writeJournal, type Entry } from './journal.ts';
import { duePatches, keep } from './keep.ts';
import { launchFailure } from './launch.ts';
import { classOptions, inWords, mismatches } from './options.ts';
import { phaseOf, type Phase } from './phase.ts';
import { nextOf, type Look } from './progress.ts';
import { lastPatchOf, type Options, type RolloutRecord } from './record.ts';
import { runStep, type Running } from './run.ts';
import { few, READY_LOOK_SECONDS, type Next, type Rolling } from './state.ts';
import { table, type Wanted } from './table.ts';
import { awaitedOf, isAwaited, isExternal } from './writer.ts';

export type ObservePorts = BakePorts;

export const observeStep = (ports: ObservePorts, state: Rolling): Promise<Next> =>
  runStep(ports, state, (running) => observe(ports, running));

async function observe(ports: ObservePorts, running: Running): Promise<Next> {
  const { ground, record, guard } = running;
  const { oldestHoldSince: _before, ...rest } = running.state;
  const state = { ...rest, looks: rest.looks + 1 };
  if (state.canary?.markedAt !== undefined && isCanaryDue(state, record, ground.nodeClass))
    return bakeLook(ports, { ...running, state }, state.canary.markedAt);
  const differs = mismatches(state.target, classOptions(ground.nodeClass)).length > 0;
  const isWaiting = isExternal(state) && state.awaitedSince !== undefined;
  if (state.patchedAt === undefined && !isWaiting)
    return { ...state, next: 'hold-and-patch', lookAgainIn: 0 };
  if (isExternal(state) ? differs !== isWaiting : differs) return holdAgain(ports, state, running);

  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, selectorOf(state.policy));
  if (await takeMarksOff(running, fleet)) return { ...state, next: 'look', lookAgainIn: 1 };
  const now = ports.clock.now();
  const phase = phaseNow(state, fleet, record, now);
  const wanted = wantedOf(state, fleet, phase, now);
  // Where nothing is to be written no write would find out that the turn is over, and this look may be the last one.
  await guard.check();
  await noteAsked(ports, running);
  const page = (entries: Entry[]): Promise<void> => writeJournal(ports, state, 'holds', entries);
  const kept = await keep(ports, guard, duePatches(wanted, state.execution, now), page);
  const events = await ground.cluster.list('Event');
  await writeJournal(ports, state, 'observe', happenings(state, fleet, events));
  const clusterTime = clusterTimeOf(fleet, events) ?? state.clusterTime;
  const look = lookOf(state, { fleet, phase, now, wanted, left: kept.left, written: kept.entries.length });
  return nextOf(
    {
      ...state,
      counts: look.counts,
      ...(clusterTime !== undefined && { clusterTime }),
      ...oldestHold(fleet),
      ...(fleet.instancesKnown && { wholeLookAt: now.toISOString() }),
    },
    look,
    record,
  );
}

/** Policies may be deleted under a rollout; what is deleted once it was stopped has to be told from that. */
async function noteAsked(ports: ObservePorts, { state, record, asked }: Running): Promise<void> {
  if (record.generation !== state.generation || record.asked === asked) return;
  await ports.records.write(state.rack, { ...record, asked });
}

/**
 * The class has been patched: what was tried is as everything is to be, and there is nothing to go back to. True where
 * a mark was written off, after which the nodes are read anew.
 */
async function takeMarksOff({ state, guard }: Running, { nodes }: Fleet): Promise<boolean> {
  if (state.takingBack !== undefined) return false;
  const marked = nodes.flatMap(({ canary, node }) => (canary !== undefined && node ? [node] : []));
  for (const node of marked) {
    const patch = markPatch(node, null);
    if (patch) await guard.tryPatch('Node', node.metadata.name, patch);
  }
  return marked.length > 0;
}

/**
 * Somebody put another value back: everything is protected again before the class is patched again. One that is left
 * to its writer is only looked at anew, whether it has come to say what is asked or says it no longer.
 */
async function holdAgain(ports: ObservePorts, state: Rolling, { ground }: Running): Promise<Rolling> {
  const said = inWords(classOptions(ground.nodeClass));
  const text = `EC2NodeClass ${ground.nodeClass.metadata.name} was changed to ${said} by somebody else`;
  await writeJournal(ports, state, 'observe', [{ what: 'note', at: ports.clock.now().toISOString(), text }]);
  return {
    ...state,
    next: state.takingBack === undefined ? 'hold-and-patch' : 'take-back',
    lookAgainIn: READY_LOOK_SECONDS,
    waitsFor: text,
  };
}

/** While its writer is waited for, it does not matter how far Karpenter is with what the class says. */
const phaseNow = (state: Rolling, fleet: Fleet, record: RolloutRecord, now: Date): Phase =>
  isAwaited(state, fleet.nodeClass)
    ? { kind: 'awaited', why: awaitedOf(state.target, fleet.nodeClass) }
    : phaseOf(fleet, record, now);

/** Karpenter alone places no holds; what an earlier rollout left is released. */
function wantedOf(state: Rolling, fleet: Fleet, phase: Phase, now: Date): Wanted[] {
  if (state.policy.strategy === 'karpenter') {
    const held = fleet.nodes.filter(({ hold, leaving }) => hold !== undefined && !leaving);
    return held.map((node) => ({ node, want: NOTHING, why: 'imds_rollout_strategy is karpenter' }));
  }
  return table({ fleet, target: judgedBy(state), phase, patchedAt: lastPatchOf(state), now });
}

/** While values are taken back an instance is neither right nor wrong: what counts is that drift clears. */
const judgedBy = (state: Rolling): Options => (state.takingBack === undefined ? state.target : {});

interface Seen {
  fleet: Fleet;
  phase: Phase;
  now: Date;
  wanted: readonly Wanted[];
  left: number;
  written: number;
}

/** What the look saw, judged: counts, and names of those that matter. */
function lookOf(state: Rolling, { fleet, phase, now, wanted, left, written }: Seen): Look {
  const { counts, wrong, unknown, busy } = count(fleet, wanted, judgedBy(state), lastPatchOf(state));
  return {
    now,
    phase,
    counts,
    instancesKnown: fleet.instancesKnown,
    left,
    written,
    cordoned: wanted.filter(({ want }) => want.cordon).length,
    unsettledCordons: wanted.some(
      ({ want, node }) => want.cordon && want.protect && node.builds.length === 0,
    ),
    wrong: wrong.map(({ name }) => name),
    unknown: unknown.map(({ name }) => name),
    busy: busy.map(({ name, builds }) => `${name} (${few(builds, 2)})`),
    launchFailure: launchFailure(fleet),
  };
}
