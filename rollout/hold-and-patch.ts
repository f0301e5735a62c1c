/** Hold and patch: take the Lease, remember, protect every build node, then patch the class. */
import { isCanaryDue } from './canary.ts';
import { isCarriedOn } from './canary-mark.ts';
import { contention } from './contend.ts';
import { TransientError } from './errors.ts';
import { readNodes } from './fleet.ts';
import { sharedNow, type Ground } from './ground.ts';
import { PROTECT } from './hold.ts';
import { writeJournal, type Entry } from './journal.ts';
import { duePatches, keep, type Kept } from './keep.ts';
import { launchFailure } from './launch.ts';
import { leftBehind } from './left-behind.ts';
import { GENERATION_ANNOTATION, NODECLASS_HASH, ROLLOUT_ANNOTATION } from './naming.ts';
import { classOptions, mismatches, owned, pick } from './options.ts';
import { stillOurs } from './owners.ts';
import { isReady } from './phase.ts';
import type { Ports } from './ports.ts';
import { baselineOf } from './purpose.ts';
import type { Options, RolloutRecord } from './record.ts';
import { runStep, type RunPorts, type Running } from './run.ts';
import { conclude, READY_LOOK_SECONDS, type Next, type Rolling } from './state.ts';
import { takeTurn } from './turn.ts';
import { awaitedOf, isAwaited, isExternal, leftToWriter, noticed } from './writer.ts';

export type PatchPorts = RunPorts & Pick<Ports, 'reports'>;

export const holdAndPatchStep = (ports: PatchPorts, state: Rolling): Promise<Next> =>
  runStep(ports, state, (running) => holdAndPatch(ports, running));

async function holdAndPatch(ports: PatchPorts, running: Running): Promise<Next> {
  const { state, ground } = running;
  if (state.takingBack !== undefined && isExternal(state))
    return conclude(state, 'Failed', leftToWriter(state.takingBack, state.target));
  const turn = await takeTurn(ports, ground.cluster, ground.nodeClass.metadata.name, state);
  if (turn.kind === 'newer')
    return conclude(state, 'Superseded', `${turn.holder} started later and is at it`);
  if (turn.kind === 'same')
    return conclude(state, 'NothingToDo', `already being rolled out by ${turn.holder}`);
  // Read again: until the turn was taken the record was somebody else's to write.
  const before = await ports.records.read(state.rack);
  const left = await leftBehind(ground, before);
  const record: RolloutRecord = {
    ...remember({ ...running, record: before }, ports.clock.now().toISOString(), turn.takenOverAt),
    ...(left.length > 0 && { left }),
  };
  await writeRecord(ports, state.rack, before, record);

  const canary = await canaryFirst({ ...running, record });
  if (canary !== undefined) return canary;
  const why = isExternal(state) ? 'its class may be written at any time' : 'before the class is patched';
  const holds = await protectAll(ports, running, 'hold', why);
  if (holds.entries.length === 0 && holds.left > 0) {
    throw new TransientError(
      `none of ${String(holds.left)} build nodes could be protected: the class is not patched before all are`,
    );
  }
  // The class is patched only by a call that found everything protected.
  if (holds.entries.length > 0) return { ...state, next: again(state), lookAgainIn: 1 };
  if (state.policy.strategy === 'immediate' && state.modifiedAll !== true && state.takingBack === undefined) {
    return { ...state, next: 'modify-stragglers', lookAgainIn: 0 };
  }
  await writeProof(ports, state, holds.nodes);
  if (isExternal(state)) return leaveClass(ports, { ...running, record });
  return patchClass(ports, { ...running, record });
}

/** What comes before everything else where a canary is to be tried, or one is there and the class stays as it is. */
async function canaryFirst({ state, ground, record }: Running): Promise<Rolling | undefined> {
  if (isCanaryDue(state, record, ground.nodeClass))
    return { ...state, next: 'modify-canary', lookAgainIn: 0, canary: state.canary ?? {} };
  if (mismatches(state.target, classOptions(ground.nodeClass)).length > 0 || state.takingBack !== undefined)
    return undefined;
  const { nodeClass } = ground;
  const isLeft = (await readNodes(ground)).some(
    ({ canary, leaving }) =>
      canary !== undefined && !leaving && (canary === 'unreadable' || !isCarriedOn(canary, nodeClass)),
  );
  return isLeft ? { ...state, next: 'put-canary-back', lookAgainIn: 0 } : undefined;
}

/** That everything was protected when the class was patched, also by a call whose own page was lost. */
const writeProof = (ports: PatchPorts, state: Rolling, nodes: string[]): Promise<void> =>
  writeJournal(
    ports,
    state,
    'protected',
    nodes.length > 0 ? [{ what: 'allProtected', at: ports.clock.now().toISOString(), nodes }] : [],
  );

/** A rollout that takes back does so through its own task, which the console shows. */
const again = (state: Rolling): Rolling['next'] =>
  state.takingBack === undefined ? 'hold-and-patch' : 'take-back';

/** What must be on record before anything is held: that holds may exist, for what, and what the class said before. */
function remember(
  { state, ground, record, asked }: Running,
  now: string,
  takenOverAt = record.takenOverAt,
): RolloutRecord {
  const { uid } = ground.nodeClass.metadata;
  const always = { classUid: uid, holdsMayExist: true, ...(takenOverAt !== undefined && { takenOverAt }) };
  if (state.takingBack !== undefined) {
    return { ...record, ...always, takingBack: record.takingBack ?? { since: now, why: state.takingBack } };
  }
  const { patchedAt, lastPatchAt, hashBefore, prior, awaitedSince } = record;
  const external = isExternal(state);
  const isSame = record.generation === state.generation && record.classUid === uid;
  const approved = state.approved ?? (isSame ? record.approved : undefined);
  const sameGoesOn = {
    ...(patchedAt !== undefined && { patchedAt }),
    ...(lastPatchAt !== undefined && { lastPatchAt }),
    ...(hashBefore !== undefined && { hashBefore }),
    ...(external && awaitedSince !== undefined && { awaitedSince }),
  };
  // What somebody else writes has no baseline of ours, and what they took over has none any more.
  const baseline = external
    ? pick(baselineOf(record, uid), stillOurs(ground.nodeClass))
    : { ...pick(classOptions(ground.nodeClass), owned(state.target)), ...baselineOf(record, uid) };
  return {
    schemaVersion: 1,
    ...always,
    ...(record.last && { last: record.last }),
    ...(record.reapplied && { reapplied: record.reapplied }),
    baseline,
    ask: pick(
      state.target,
      owned(state.target).filter((option) => !state.restoring.includes(option)),
    ),
    ...(record.reached !== undefined && record.classUid === uid && { reached: record.reached }),
    generation: state.generation,
    asked,
    ...(approved !== undefined && { approved }),
    ...canaryOnRecord({ state, ground, record }, now),
    // The deadline counts from the first patch of a purpose: neither a retry nor a successor prolongs it.
    ...(isSame && sameGoesOn),
    ...(prior !== undefined && record.classUid === uid && { prior }),
  };
}

/** Before the first mark: that nodes may carry some, and how far Karpenter is with what was patched before. */
function canaryOnRecord(
  { state, ground, record }: Pick<Running, 'state' | 'ground' | 'record'>,
  now: string,
): Pick<RolloutRecord, 'canary'> {
  if (record.canary !== undefined) {
    const { putBack: _, ...canary } = record.canary;
    return { canary };
  }
  if (!isCanaryDue(state, record, ground.nodeClass)) return {};
  const { lastPatchAt = record.patchedAt, hashBefore } = record;
  return {
    canary: {
      since: now,
      ...(lastPatchAt !== undefined && { classPatchedAt: lastPatchAt }),
      ...(hashBefore !== undefined && { hashBefore }),
    },
  };
}

/** Writes the record where it changed: Parameter Store takes few writes a second. */
async function writeRecord(
  ports: PatchPorts,
  rack: string,
  before: RolloutRecord,
  after: RolloutRecord,
): Promise<void> {
  if (canonical(before) !== canonical(after)) await ports.records.write(rack, after);
}

const canonical = (record: RolloutRecord): string =>
  JSON.stringify(Object.entries(record).sort(([a], [b]) => a.localeCompare(b)));

/** Protects every build node, idle ones too, and the NodeClaims that have none yet. Cordons of ours are lifted. */
async function protectAll(
  ports: PatchPorts,
  { state, ground, guard }: Running,
  step: string,
  why: string,
): Promise<Kept & { nodes: string[] }> {
  if (state.policy.strategy === 'karpenter') return { entries: [], left: 0, nodes: [] };
  const nodes = (await readNodes(ground)).filter(({ leaving }) => !leaving);
  const wanted = nodes.map((node) => ({ node, want: PROTECT, why }));
  const page = (entries: Entry[]): Promise<void> => writeJournal(ports, state, step, entries);
  const kept = await keep(ports, guard, duePatches(wanted, state.execution, ports.clock.now()), page);
  return { ...kept, nodes: nodes.map(({ name }) => name) };
}

/** The class is somebody else's to write: it is left as it is, and what it says is remembered. */
async function leaveClass(ports: PatchPorts, { state, ground, record }: Running): Promise<Rolling> {
  const { awaitedSince: _, ...rest } = state;
  const remembered = noticed(record, state.target, ground.nodeClass, ports.clock.now().toISOString());
  await writeRecord(ports, state.rack, record, remembered);
  if (remembered.awaitedSince !== record.awaitedSince && isAwaited(state, ground.nodeClass))
    await tellWaiting(state, ground);
  const { patchedAt, lastPatchAt, awaitedSince } = remembered;
  return {
    ...rest,
    next: 'look',
    lookAgainIn: READY_LOOK_SECONDS,
    ...(patchedAt !== undefined && { patchedAt }),
    ...(lastPatchAt !== undefined && { lastPatchAt }),
    ...(awaitedSince !== undefined && { awaitedSince }),
  };
}

/** Whoever renders the class sees there that it is waited for. */
const tellWaiting = ({ execution, target }: Rolling, { cluster, nodeClass }: Ground): Promise<void> =>
  cluster.emit({
    type: 'Normal',
    reason: 'ImdsRolloutWaiting',
    message: `${execution}: ${awaitedOf(target, nodeClass)}`,
    regarding: { kind: 'EC2NodeClass', name: nodeClass.metadata.name, uid: nodeClass.metadata.uid },
  });

async function patchClass(ports: PatchPorts, running: Running): Promise<Next> {
  const { state, ground, record } = running;
  const shared = await sharedNow(ground);
  if (shared !== undefined) return conclude(state, 'Failed', shared);
  const { nodeClass } = ground;
  const before = classOptions(nodeClass);
  const changes = mismatches(state.target, before).length > 0;
  const contended = contention(state, nodeClass, record, ports.clock.now());
  if (contended.kind === 'contended') return conclude(state, 'Contended', contended.why);
  const now = ports.clock.now().toISOString();
  const patchedAt = record.patchedAt ?? now;
  const prior = await priorOf(record, ground);
  const { hashBefore, prior: _, ...rest } = record;
  const hash = nodeClass.metadata.annotations?.[NODECLASS_HASH];
  const remembered: RolloutRecord = changes
    ? {
        ...rest,
        ...(contended.reapplied.length > 0 && { reapplied: contended.reapplied }),
        patchedAt,
        lastPatchAt: now,
        prior: prior ?? before,
        ...(hash !== undefined && { hashBefore: hash }),
      }
    : {
        ...rest,
        ...(hashBefore !== undefined && { hashBefore }),
        ...(prior !== undefined && { prior }),
        patchedAt,
      };
  await writeRecord(ports, state.rack, record, remembered);
  if (changes) await writeClass(ports, running, before);
  // NodeClaims that came since everything was protected may be of the class of before.
  await protectAll(ports, running, 'protect', 'came while the class was patched');
  const { lastPatchAt = patchedAt } = remembered;
  const { awaitedSince: _awaited, ...rolling } = state;
  return { ...rolling, next: 'look', lookAgainIn: READY_LOOK_SECONDS, patchedAt, lastPatchAt };
}

/**
 * Where a taking back returns to, as far as an earlier patch has to say it: this purpose's own first one, or that of a
 * rollout which this one supersedes, whose values have not been seen to work. Else it is what the class says now.
 */
async function priorOf({ prior, patchedAt }: RolloutRecord, ground: Ground): Promise<Options | undefined> {
  if (prior === undefined || patchedAt !== undefined) return prior;
  const works = isReady(ground.nodeClass) && launchFailure({ nodes: await readNodes(ground) }) === undefined;
  return works ? undefined : prior;
}

async function writeClass(
  ports: PatchPorts,
  { state, ground, guard }: Running,
  before: Options,
): Promise<void> {
  const { metadata } = ground.nodeClass;
  const after = await guard.patch('EC2NodeClass', metadata.name, {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      annotations: { [ROLLOUT_ANNOTATION]: state.execution, [GENERATION_ANNOTATION]: state.generation },
    },
    spec: { metadataOptions: { ...state.target } },
  });
  await writeJournal(ports, state, 'patch', [
    {
      what: 'patched',
      at: ports.clock.now().toISOString(),
      class: metadata.name,
      before,
      after: classOptions(after),
      resourceVersionBefore: metadata.resourceVersion,
      resourceVersionAfter: after.metadata.resourceVersion,
      why: state.takingBack ?? state.waitsFor ?? 'asked for',
    },
  ]);
}
