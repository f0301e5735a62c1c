/** The first step of an execution: from what is proposed to a rollout, to the wait for a person, or to an end. */
import { APPROVAL_SECONDS, changesInWords, covers, type Decided, type Question } from './approval.ts';
import { writeJournal, type Entry } from './journal.ts';
import { describePlan, propose, type PlanPorts, type Proposal } from './plan.ts';
import type { Approved, Outcome } from './record.ts';
import { DECIDED, isAskedBy, shallStart } from './shall-start.ts';
import { putBackAndEnd, type PuttingBack, type State } from './state.ts';

interface Planning {
  rack: string;
  execution: string;
  startedAt: string;
  /** What was asked of a person, and the answer, where the execution has waited for one. */
  asked?: { question: Question; decided: Decided };
}

type Step = Pick<State, 'schemaVersion' | 'rack' | 'execution' | 'startedAt' | 'looks'>;

/** Plans for the execution of a rack, and writes the plan down as the first page of its evidence. */
export async function planStep(ports: PlanPorts, planning: Planning): Promise<State> {
  const { rack, execution, startedAt, asked } = planning;
  const step: Step = { schemaVersion: 1, rack, execution, startedAt, looks: 0 };
  if (asked !== undefined) await writeAnswer(ports, step, asked.decided);
  const over = asked && endOfAnswer(step, asked.question, asked.decided);
  if (over !== undefined) return over;
  const proposal = await propose(ports, rack, execution);
  const putBack = await canaryAlone(ports, step, proposal);
  if (putBack !== undefined) return putBack;
  return (await beforeEarlier(ports, step, proposal)) ?? takeUp(ports, step, proposal, asked);
}

/**
 * The end of a canary that nobody goes on with: reconcile found its marks, and what was decided last still stands. It
 * is put back, and that outcome stays. undefined where a rollout is due, which takes the canary over.
 */
async function canaryAlone(
  ports: PlanPorts,
  step: Step,
  proposal: Proposal,
): Promise<PuttingBack | undefined> {
  const record = await ports.records.read(step.rack);
  if (record.canary?.putBack !== true) return undefined;
  const [approval, stored] = await Promise.all([
    ports.approvals.read(step.rack),
    ports.parameters.list(step.rack),
  ]);
  if (shallStart({ record, approval, isWaiting: false }, stored, proposal)) return undefined;
  const last = record.last && STANDS.includes(record.last.outcome) ? record.last : undefined;
  const ending = {
    ...step,
    next: 'conclude' as const,
    outcome: last?.outcome ?? ('Withdrawn' as const),
    reason: last?.reason ?? 'nobody goes on with the canary of an earlier rollout',
    target: { ...record.baseline, ...record.ask },
    ...(last?.generation !== undefined && { generation: last.generation }),
    ...(last !== undefined && { parameters: last.parameters }),
  };
  return putBackAndEnd(ending, ports.clock.now());
}

/** What was decided, and is not changed by putting a canary back. */
const STANDS: readonly Outcome[] = [...DECIDED, 'Refused', 'Withdrawn'];

/** What a proposal becomes: a rollout, the wait for a person, or an end. */
async function takeUp(
  ports: PlanPorts,
  step: Step,
  proposal: Proposal,
  asked?: Planning['asked'],
): Promise<State> {
  if (proposal.kind === 'end') return concluded(step, proposal);
  const now = ports.clock.now().toISOString();
  const plan = await describePlan(ports, proposal);
  const { purpose, asks, question } = proposal;
  const approved = question && answerTo(question, asked);
  const unanswered = approved === undefined ? question : undefined;
  const entries: Entry[] = unanswered === undefined ? [] : [askedEntry(unanswered, now)];
  await writeJournal(ports, step, 'plan', [{ what: 'planned', at: now, plan }, ...entries]);
  if (unanswered !== undefined) {
    const waitsFor = `a person's approval, since ${unanswered.why}: ${changesInWords(unanswered)}`;
    return { ...step, next: 'await-approval', question: unanswered, waitsFor };
  }
  return {
    ...step,
    next: 'hold-and-patch',
    lookAgainIn: 0,
    ...purpose,
    policy: asks.policy,
    wholeLookAt: now,
    waitsFor: proposal.reason,
    ...(approved !== undefined && { approved }),
  };
}

function askedEntry(question: Question, now: string): Entry {
  const { hash, why } = question;
  const until = new Date(new Date(now).getTime() + APPROVAL_SECONDS * 1000).toISOString();
  return { what: 'asked', at: now, hash, changes: changesInWords(question), why, until };
}

/** Who decided, for the report; that a newer rollout came first its own end says. */
async function writeAnswer(ports: PlanPorts, step: Step, decided: Decided): Promise<void> {
  if (decided.decision === 'superseded') return;
  await writeJournal(ports, step, 'answer', [{ what: 'decided', ...decided }]);
}

function concluded(step: Step, { outcome, reason, purpose }: Extract<Proposal, { kind: 'end' }>): State {
  const named = purpose && { generation: purpose.generation, target: purpose.target };
  return { ...step, next: 'conclude', outcome, reason, ...named };
}

/** The end that an answer is by itself; undefined where it lets the rollout go on. */
function endOfAnswer(step: Step, { generation, hash }: Question, decided: Decided): State | undefined {
  if (decided.decision === 'approved') return undefined;
  const over = { ...step, next: 'conclude', generation } as const;
  return decided.decision === 'rejected'
    ? { ...over, outcome: 'Rejected', reason: `${decided.by} rejected ${hash}: ${decided.reason}` }
    : { ...over, outcome: 'Superseded', reason: `${decided.by} started later and asks anew` };
}

/** The approval that counts for a question: of this very one, or of one that covers it. */
function answerTo(question: Question, asked: Planning['asked']): Approved | undefined {
  if (asked?.decided.decision !== 'approved' || asked.decided.hash !== asked.question.hash) return undefined;
  const { decision: _, ...approved } = asked.decided;
  return covers(asked.question, question) ? approved : undefined;
}

/**
 * What comes first where an earlier execution still waits for a person: it is to end, since this one has read what is
 * asked now. One that waits for the same answer keeps its place, and this one has nothing to do.
 */
async function beforeEarlier(ports: PlanPorts, step: Step, proposal: Proposal): Promise<State | undefined> {
  const { awaiting } = await ports.approvals.read(step.rack);
  if (awaiting === undefined || awaiting.execution === step.execution) return undefined;
  if ((await ports.workflow.describe(awaiting.execution))?.status !== 'RUNNING') return undefined;
  if (isAskedBy(awaiting, proposal)) {
    const reason = `${awaiting.execution} already waits for approval of ${awaiting.hash}`;
    return concluded(step, { kind: 'end', outcome: 'NothingToDo', reason });
  }
  const waitsFor = `the end of ${awaiting.execution}, which waits for approval of what is not asked any more`;
  return { ...step, next: 'end-wait', earlier: awaiting.execution, waitsFor };
}
