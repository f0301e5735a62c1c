/** What comes after a look: look again, modify, take back or conclude. Pure. */
import type { Phase } from './phase.ts';
import { lastPatchOf, type RolloutRecord } from './record.ts';
import { mismatches } from './options.ts';
import { conclude, few, READY_LOOK_SECONDS, type Concluding, type Counts, type Rolling } from './state.ts';
import { CORDON_AGE_SECONDS } from './table.ts';
import { LONGEST_FUNCTION_MS } from './turn.ts';
import { isExternal, leftToWriter } from './writer.ts';

/** What a look saw. Names are of nodes; where instances could not be read they say nothing. */
export interface Look {
  now: Date;
  phase: Phase;
  counts: Counts;
  instancesKnown: boolean;
  /** Holds that are due and not written yet. */
  left: number;
  /** Holds that this look wrote. */
  written: number;
  cordoned: number;
  /** Cordons that are too young for a protection to be lifted. */
  unsettledCordons: boolean;
  wrong: string[];
  unknown: string[];
  /** Held nodes that run Builds, with their Builds. */
  busy: string[];
  /** A launch that fails for template, authorisation or metadata. */
  launchFailure: string | undefined;
}

/** A look that could not read everything is taken again so soon, and a rollout without a whole one ends. */
const RETRY_SECONDS = 20;
const BLIND_LIMIT_MS = 30 * 60_000;

/** How long live modification is given at least, however short the drain time-out is, and by each execution anew. */
const MODIFY_AT_LEAST_MS = 30 * 60_000;

/** How long a class may stand not Ready at its own generation before its values are taken back, or given up. */
const NOT_READY_LIMIT_MS = 10 * 60_000;

/** How long after the drain time-out holds that are due may still be waited for. */
const TABLE_LIMIT_SECONDS = 30 * 60;

const since = (now: Date, then: string | Date): number => now.getTime() - new Date(then).getTime();

export function nextOf(before: Rolling, look: Look, record: RolloutRecord): Rolling | Concluding {
  const state = withUnknown(before, look);
  if (since(look.now, blindSince(state)) >= BLIND_LIMIT_MS) {
    return conclude(
      state,
      'Failed',
      `no look could read everything for 30 minutes; unknown: ${few(look.unknown)}`,
    );
  }
  return (
    tookBack(state, look) ??
    mustTakeBack(state, look, record) ??
    withWrong(state, look) ??
    whenCompliant(withCompliance(state, look), look, record)
  );
}

/** Looks begin with the patch: what strategy immediate takes before it is not time without one. */
const blindSince = ({ wholeLookAt, patchedAt = wholeLookAt }: Rolling): string =>
  patchedAt > wholeLookAt ? patchedAt : wholeLookAt;

function withUnknown(state: Rolling, { counts, now }: Look): Rolling {
  const { unknownSince, ...rest } = state;
  return counts.unknown > 0 ? { ...rest, unknownSince: unknownSince ?? now.toISOString() } : rest;
}

const again = (state: Rolling, look: Look, waitsFor: string, dueIn?: number): Rolling => {
  const seconds = Math.min(
    cadence(state, look),
    ...(dueIn === undefined ? [] : [Math.max(1, Math.ceil(dueIn))]),
  );
  return { ...state, next: 'look', lookAgainIn: seconds, waitsFor };
};

/**
 * Seconds to the next look. Dense while the class becomes Ready and while the first nodes go, later at least every
 * two minutes, as long as 72 hours of looks fit an execution's 25,000 history events.
 */
function cadence(state: Rolling, look: Look): number {
  if (look.left > 0) return look.written > 0 ? 1 : RETRY_SECONDS;
  if (!look.instancesKnown) return RETRY_SECONDS;
  if (look.phase.kind === 'awaited') return awaitedCadence(since(look.now, state.startedAt) / 1000);
  const age = since(look.now, lastPatchOf(state) ?? look.now) / 1000;
  if (look.phase.kind !== 'settled' && age < 600) return READY_LOOK_SECONDS;
  if (look.unsettledCordons) return CORDON_AGE_SECONDS + 1;
  if (age < 300) return 20;
  return age < 3600 ? 60 : 120;
}

/**
 * While its writer is waited for, the class may be written at any moment: each node is to be protected before it is
 * initialized, from when on Karpenter may take it. Later only as often as 25,000 history events allow.
 */
const awaitedCadence = (age: number): number => (age < 300 ? 20 : age < 12 * 3600 ? 60 : 120);

/** The way back: ends when the class is Ready and drift is gone, and when even the values of before are not Ready. */
function tookBack(state: Rolling, look: Look): Rolling | Concluding | undefined {
  if (state.takingBack === undefined) return undefined;
  const { phase } = look;
  if (phase.kind === 'settled') {
    return look.left > 0 ? again(state, look, 'the table') : conclude(state, 'RolledBack', state.takingBack);
  }
  if (phase.kind === 'notReady' && since(look.now, phase.since) >= NOT_READY_LIMIT_MS) {
    return conclude(
      state,
      'Failed',
      `${phase.why}, with the values of before too; taken back because ${state.takingBack}`,
    );
  }
  return neverSettled(state, look) ?? again(state, look, phase.why);
}

/** Only a class that stands refused, or launches that name what was changed. Never a lack of capacity. */
function mustTakeBack(
  state: Rolling,
  look: Look,
  { prior }: RolloutRecord,
): Rolling | Concluding | undefined {
  const { phase } = look;
  const isAsBefore = prior === undefined || mismatches(state.target, prior).length === 0;
  if (isAsBefore || phase.kind === 'awaited') return undefined;
  const stands =
    phase.kind === 'notReady' && phase.refused && since(look.now, phase.since) >= NOT_READY_LIMIT_MS;
  const why = stands ? `${phase.why}, for 10 minutes` : look.launchFailure;
  if (why === undefined) return undefined;
  if (isExternal(state)) return conclude(state, 'Failed', leftToWriter(why, prior));
  return { ...state, next: 'take-back', lookAgainIn: 0, takingBack: why };
}

/** Milliseconds from now to the deadline, of the class's patch or else of the wait for it; negative once it has passed. */
const toDeadline = (state: Rolling, look: Look): number =>
  state.policy.deadline * 1000 - since(look.now, state.patchedAt ?? state.awaitedSince ?? look.now);

/** Deadline and drain time-out have both passed: as long as anything is waited for. */
const isDrainOver = (state: Rolling, look: Look): boolean =>
  look.phase.kind === 'awaited'
    ? isWaitOver(state, look)
    : -toDeadline(state, look) >= state.policy.drainTimeout * 1000;

/** A writer is waited for as long, by each execution anew: who retries is about to have the class written. */
function isWaitOver({ policy, startedAt, awaitedSince = startedAt }: Rolling, { now }: Look): boolean {
  const waited = Math.min(since(now, startedAt), since(now, awaitedSince));
  return waited >= (policy.deadline + policy.drainTimeout) * 1000;
}

/** A class that Karpenter does not come to terms with. Who retries after the drain time-out has just patched it. */
const neverSettled = (state: Rolling, look: Look): Concluding | undefined =>
  isDrainOver(state, look) &&
  since(look.now, state.startedAt) >= NOT_READY_LIMIT_MS &&
  look.phase.kind !== 'settled'
    ? conclude(state, 'Failed', look.phase.why)
    : undefined;

/** An instance that EC2 says nothing of, look after look, while it answers for others: it is never taken for right. */
const neverKnown = (state: Rolling, look: Look): Concluding | undefined =>
  isDrainOver(state, look) &&
  state.unknownSince !== undefined &&
  since(look.now, state.unknownSince) >= BLIND_LIMIT_MS
    ? conclude(state, 'Failed', `still unknown at the drain time-out: ${few(look.unknown)}`)
    : undefined;

/** What is still wrong: at once under `immediate`, else by the policy when the deadline has passed. */
function withWrong(state: Rolling, look: Look): Rolling | Concluding | undefined {
  if (look.wrong.length === 0) return undefined;
  const names = few(look.wrong);
  const { strategy, stragglers } = state.policy;
  const passed = toDeadline(state, look) <= 0;
  if (passed && stragglers === 'fail') {
    return conclude(state, 'Failed', withAwaited(`still wrong at the deadline: ${names}`, look));
  }
  // The deadline of a purpose does not move: who retries long after it has not tried anything yet.
  const tried = Math.min(-toDeadline(state, look), since(look.now, state.startedAt));
  const modified = stragglers !== 'modify' || tried >= MODIFY_AT_LEAST_MS;
  if (isDrainOver(state, look) && passed && modified) {
    return conclude(state, 'Failed', withAwaited(`still wrong at the drain time-out: ${names}`, look));
  }
  // What the class says while its writer is waited for stays as it is: nothing is in flux.
  const inFlux = look.phase.kind !== 'settled' && look.phase.kind !== 'awaited';
  const atOnce = strategy === 'immediate' && !inFlux && !passed;
  const due = atOnce || (passed && stragglers === 'modify');
  return due && mayModify(state, look.now)
    ? { ...state, next: 'modify-stragglers', lookAgainIn: 0, waitsFor: `live modification of ${names}` }
    : undefined;
}

/** Why new nodes come up wrong, where the class is why. */
const withAwaited = (reason: string, { phase }: Look): string =>
  phase.kind === 'awaited' ? `${reason}; ${phase.why}` : reason;

/** EC2 that accepts nothing is asked less and less often, up to every 10 minutes: looks go on between. */
export function mayModify({ bucket }: Rolling, now: Date): boolean {
  if (bucket === undefined || bucket.refused === 0) return true;
  return since(now, bucket.at) / 1000 >= Math.min(600, 10 * 2 ** bucket.refused);
}

function isCompliant({ phase, counts, instancesKnown }: Look): boolean {
  return phase.kind === 'settled' && instancesKnown && counts.wrong === 0 && counts.unknown === 0;
}

function withCompliance(state: Rolling, look: Look): Rolling {
  const { compliantAt, ...rest } = state;
  if (!isCompliant(look)) return rest;
  const now = look.now.toISOString();
  return {
    ...rest,
    compliantAt: compliantAt ?? now,
    drainingSince: state.drainingSince ?? compliantAt ?? now,
  };
}

function whenCompliant(state: Rolling, look: Look, record: RolloutRecord): Rolling | Concluding {
  const { compliantAt, drainingSince } = state;
  if (compliantAt === undefined || drainingSince === undefined) {
    return (
      neverSettled(state, look) ??
      neverKnown(state, look) ??
      again(
        state,
        look,
        waitsForWrong(look),
        toDeadline(state, look) > 0 ? toDeadline(state, look) / 1000 : undefined,
      )
    );
  }
  const drainLeft = state.policy.drainTimeout - since(look.now, drainingSince) / 1000;
  // Reconcile keeps a table that somebody keeps changing; it does not keep a rollout from its end.
  if ((look.left > 0 || look.unsettledCordons) && drainLeft > -TABLE_LIMIT_SECONDS)
    return again(state, look, 'the table');
  const verifyLeft =
    record.takenOverAt === undefined ? 0 : LONGEST_FUNCTION_MS - since(look.now, record.takenOverAt);
  if (verifyLeft > 0) return again(state, look, 'functions of the rollout before to end', verifyLeft / 1000);
  if (look.busy.length > 0 && drainLeft > 0)
    return again(state, look, `Builds on held nodes: ${few(look.busy)}`, drainLeft);
  return conclude(state, 'Succeeded', succeeded(look));
}

function waitsForWrong({ phase, wrong, unknown, busy }: Look): string {
  if (phase.kind !== 'settled') return phase.why;
  const parts = [
    ...(wrong.length > 0 ? [`wrong: ${few(wrong)}`] : []),
    ...(unknown.length > 0 ? [`unknown: ${few(unknown)}`] : []),
    ...(busy.length > 0 ? [`Builds: ${few(busy)}`] : []),
  ];
  return parts.join('; ');
}

function succeeded({ counts, busy }: Look): string {
  const { right } = counts;
  const all = right === 1 ? 'the one build instance is' : `all ${String(right)} build instances are`;
  const running = right === 0 ? 'no build instance is left, and new ones will be' : all;
  const off = counts.off > 0 ? `, ${String(counts.off)} with their endpoint off` : '';
  const draining =
    busy.length > 0 ? `; at the drain time-out these still ran Builds and stay held: ${few(busy)}` : '';
  return `${running} as desired${off}${draining}`;
}
