/** What the parameters say now against what a running rollout is for. Pure. */
import { decide, type Decision, type Policy } from './desired.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import { inWords, owned } from './options.ts';
import type { StoredParameter } from './ports.ts';
import { baselineOf, needsApproval, purposeOf, standing } from './purpose.ts';
import type { Options, RolloutRecord } from './record.ts';

/** A running rollout: what for, and how it was last accepted that it goes about it. */
export interface Asking {
  generation: string;
  target: Options;
  policy: Policy;
  patchedAt?: string;
}

export type Asked =
  /** The same; with the policy as it is now. */
  | { kind: 'same'; policy: Policy }
  /** Something that cannot be accepted: the rollout goes on with the last accepted ask. */
  | { kind: 'unacceptable'; why: string; policy: Policy }
  /** Another purpose, which is acceptable: this rollout is superseded. */
  | { kind: 'other'; why: string }
  /** Nothing may be asked any more. */
  | { kind: 'withdrawn'; why: string };

export function askedNow(
  rollout: Asking,
  parameters: readonly StoredParameter[],
  record: RolloutRecord,
  nodeClass: EC2NodeClass,
): Asked {
  const decision = decide(parameters, owned(baselineOf(record, nodeClass.metadata.uid)).length > 0);
  switch (decision.kind) {
    case 'refused':
      return askedBeside(decision, rollout, record, nodeClass);
    case 'inert':
      return { kind: 'withdrawn', why: decision.why };
    case 'asksNothing':
      return { kind: 'other', why: 'the parameters ask for nothing any more' };
    case 'asks': {
      const purpose = purposeOf(decision, record, nodeClass.metadata.uid);
      if (purpose.generation === rollout.generation) return { kind: 'same', policy: decision.policy };
      const unapproved = needsApproval(
        decision.policy,
        standing(decision.policy, record, nodeClass),
        purpose.target,
      );
      return unapproved === undefined
        ? { kind: 'other', why: `the parameters now ask for ${inWords(purpose.target)}` }
        : // It waits for a person in an execution of its own, which takes the Lease once somebody has approved.
          { kind: 'unacceptable', why: unapproved, policy: rollout.policy };
    }
  }
}

/**
 * What is asked beside a refused value. That keeps what it was last accepted as; the others count: an ask that was
 * taken back is not carried on with, and a class that somebody else is to write is not written.
 */
function askedBeside(
  { refusals, ask, unread, classWriter }: Extract<Decision, { kind: 'refused' }>,
  rollout: Asking,
  record: RolloutRecord,
  nodeClass: EC2NodeClass,
): Asked {
  const policy: Policy = { ...rollout.policy, ...(classWriter === 'external' && { classWriter }) };
  // What a canary shows is for the class that this rollout writes: where somebody else is to, it is put back.
  if (policy.canary && policy.classWriter !== rollout.policy.classWriter && rollout.patchedAt === undefined)
    return {
      kind: 'other',
      why: 'imds_rollout_class_writer is external by now: the class is not to be written',
    };
  const kept = Object.fromEntries(
    unread.flatMap((option) => {
      const value = rollout.target[option];
      return value === undefined ? [] : [[option, value]];
    }),
  );
  const { generation, target } = purposeOf(
    { ask: { ...ask, ...kept }, policy },
    record,
    nodeClass.metadata.uid,
  );
  const refused: Asked = { kind: 'unacceptable', why: refusals.join('; '), policy };
  if (generation === rollout.generation) return refused;
  if (owned(target).length === 0) return { kind: 'other', why: 'the parameters ask for nothing any more' };
  return needsApproval(policy, standing(policy, record, nodeClass), target) === undefined
    ? { kind: 'other', why: `the parameters now ask for ${inWords(target)}` }
    : refused;
}
