/** Whether reconcile starts a rollout: where something differs, unless what was decided of it still stands. Pure. */
import { covers, type Approval, type Question } from './approval.ts';
import { datesOf, type Proposal } from './plan.ts';
import type { StoredParameter } from './ports.ts';
import { REASON_LENGTH, type Outcome, type RolloutRecord } from './record.ts';
import { refusalHash } from './refusals.ts';
import { hasCome } from './writer.ts';

/** Decided by people or by limits: not retried until a parameter is written again or retry is called. */
export const DECIDED: readonly Outcome[] = [
  'Rejected',
  'Expired',
  'Aborted',
  'Contended',
  'RolledBack',
  'Failed',
];

/** What the service remembers of a rack. */
export interface Remembered {
  record: RolloutRecord;
  approval: Approval;
  /** Whether the execution that asked for approval runs. */
  isWaiting: boolean;
}

/** `stored` are the rack's parameters as they are now, `proposal` is what a plan made of them. */
export function shallStart(
  remembered: Remembered,
  stored: readonly StoredParameter[],
  proposal: Proposal,
): boolean {
  const { approval, isWaiting } = remembered;
  if (isWaiting) {
    // What waits may not be what is asked any more, and no event has said so: a newer rollout ends its wait.
    return approval.awaiting !== undefined && !isAskedBy(approval.awaiting, proposal);
  }
  const refused = proposal.kind === 'end' && proposal.outcome === 'Refused' ? proposal.reason : undefined;
  const differs = proposal.kind === 'roll' ? proposal.differs : refused !== undefined;
  return differs && (!stillStands(remembered, stored, proposal, refused) || isWaitAnswered(proposal));
}

function stillStands(
  { record: { last }, approval }: Remembered,
  stored: readonly StoredParameter[],
  proposal: Proposal,
  refused: string | undefined,
): boolean {
  if (
    proposal.kind === 'roll' &&
    proposal.question !== undefined &&
    isAnswered(approval, proposal.question, stored)
  )
    return true;
  if (last === undefined) return false;
  const written = JSON.stringify(sorted(last.parameters)) !== JSON.stringify(sorted(datesOf(stored)));
  if (last.outcome === 'Refused') return refused?.slice(0, REASON_LENGTH) === last.reason;
  return refused === undefined ? DECIDED.includes(last.outcome) && !written : isTold(last, refused);
}

/** Whether an end that was no refusal said it: of a rollout that was withdrawn for it, or during which it was asked. */
const isTold = (last: NonNullable<RolloutRecord['last']>, refused: string): boolean =>
  last.refused === refusalHash(refused) ||
  (last.outcome === 'Withdrawn' && last.reason.startsWith(refused.slice(0, REASON_LENGTH)));

/** A failure to see the class written is over once it is. */
function isWaitAnswered(proposal: Proposal): boolean {
  if (proposal.kind !== 'roll' || proposal.record.last?.outcome !== 'Failed') return false;
  const { record, purpose, asks, ground } = proposal;
  return hasCome(record, { ...purpose, policy: asks.policy }, ground.nodeClass);
}

/** Whether it was rejected or ran out, and nobody has written a parameter since; a rollout beside it may have ended later. */
function isAnswered(
  { awaiting, last }: Approval,
  question: Question,
  stored: readonly StoredParameter[],
): boolean {
  const rejectedAt = last?.decision === 'rejected' && last.hash === question.hash ? last.at : undefined;
  const askedAt = awaiting?.hash === question.hash ? awaiting.askedAt : undefined;
  const since = rejectedAt ?? askedAt;
  return since !== undefined && Object.values(datesOf(stored)).every((date) => date <= since);
}

const sorted = (dates: Record<string, string>): [string, string][] =>
  Object.entries(dates).sort(([a], [b]) => a.localeCompare(b));

/** Whether the question that stands is the one that a proposal asks. */
export const isAskedBy = (awaiting: NonNullable<Approval['awaiting']>, proposal: Proposal): boolean =>
  proposal.kind === 'roll' && proposal.question !== undefined && covers(awaiting, proposal.question);
