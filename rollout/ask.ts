/** What the parameters say now against what a running rollout is for. Pure. */
import { decide, type Policy } from './desired.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import { inWords, owned } from './options.ts';
import type { StoredParameter } from './ports.ts';
import { baselineOf, needsApproval, purposeOf, standing } from './purpose.ts';
import type { RolloutRecord } from './record.ts';

export type Asked =
  /** The same; with the policy as it is now. */
  | { kind: 'same'; policy: Policy }
  /** Something that cannot be accepted: the rollout goes on with the last accepted ask. */
  | { kind: 'unacceptable'; why: string }
  /** Another purpose, which is acceptable: this rollout is superseded. */
  | { kind: 'other'; why: string }
  /** Nothing may be asked any more. */
  | { kind: 'withdrawn'; why: string };

export function askedNow(
  generation: string,
  parameters: readonly StoredParameter[],
  record: RolloutRecord,
  nodeClass: EC2NodeClass,
): Asked {
  const decision = decide(parameters, owned(baselineOf(record, nodeClass.metadata.uid)).length > 0);
  switch (decision.kind) {
    case 'refused':
      return { kind: 'unacceptable', why: decision.refusals.join('; ') };
    case 'inert':
      return { kind: 'withdrawn', why: decision.why };
    case 'asksNothing':
      return { kind: 'other', why: 'the parameters ask for nothing any more' };
    case 'asks': {
      const purpose = purposeOf(decision, record, nodeClass.metadata.uid);
      if (purpose.generation === generation) return { kind: 'same', policy: decision.policy };
      const unapproved = needsApproval(
        decision.policy,
        standing(decision.policy, record, nodeClass),
        purpose.target,
      );
      return unapproved === undefined
        ? { kind: 'other', why: `the parameters now ask for ${inWords(purpose.target)}` }
        : // It waits for a person in an execution of its own, which takes the Lease once somebody has approved.
          { kind: 'unacceptable', why: unapproved };
    }
  }
}
