/**
 * The wait of a rollout for a person, and what ended it. Step Functions alone says which answer came first, so nothing is
 * remembered beside it: whoever comes again, after a death or a second later, hears of the same one.
 */
import { decisionSchema, type Approval, type Decided } from './approval.ts';
import { APPROVED, type ApprovedNoticeDetail } from './notice.ts';
import type { Ports } from './ports.ts';

export type WaitPorts = Pick<Ports, 'clock' | 'approvals' | 'waitTokens' | 'workflow' | 'notices'>;
/** The question that an execution waits with. */
export type Standing = NonNullable<Approval['awaiting']>;
export type ByPerson = Exclude<Decided, { decision: 'superseded' }>;

/**
 * What a wait ended with. `over`: with no answer, since its time was up or somebody stopped the execution. `untold`: it
 * takes no answer and has none that could be read yet, which the history of an execution has a moment later.
 */
export type Ended = Decided | 'over' | 'untold';

/** Whether the execution runs: it waits, or has been answered just now. */
export const runs = async ({ workflow }: WaitPorts, { execution }: Standing): Promise<boolean> =>
  (await workflow.describe(execution))?.status === 'RUNNING';

/** Ends a wait with an answer. Resolves to what it ended with, which is another answer where that came first. */
export async function endWait(
  ports: WaitPorts,
  rack: string,
  standing: Standing,
  answer: Decided,
): Promise<Ended> {
  const kept = await ports.waitTokens.read(rack);
  if (kept?.execution !== standing.execution) return endedWith(ports, standing);
  const taken = await ports.workflow.answer(kept.token, answer);
  const ended = taken === 'answered' ? answer : await endedWith(ports, standing);
  if (ended !== 'untold') await ports.waitTokens.forget(rack, kept);
  return ended;
}

/** What a wait that takes no answer any more has ended with. */
async function endedWith(ports: WaitPorts, standing: Standing): Promise<Ended> {
  const last = decisionSchema.safeParse((await ports.workflow.answers(standing.execution)).at(-1)).data;
  // One of another hash was the answer to an earlier question of this execution.
  if (last?.decision === 'superseded' || last?.hash === standing.hash) return last;
  const timeIsUp = ports.clock.now() >= new Date(standing.until);
  return timeIsUp || !(await runs(ports, standing)) ? 'over' : 'untold';
}

/**
 * What follows from a person's answer: people are told, and it is on record in the place of the question. Told first:
 * where this is tried again after a death between the two they are told twice, and never not at all.
 */
export async function settle(
  ports: WaitPorts,
  rack: string,
  standing: Standing,
  ended: ByPerson,
): Promise<void> {
  const { execution, hash, looser } = standing;
  // Of a rejection the end of the rollout tells.
  if (ended.decision === 'approved') await tellApproved(ports, rack, standing, ended);
  // Plan may have asked something else meanwhile.
  const { awaiting } = await ports.approvals.read(rack);
  const isAnswered = awaiting?.execution === execution && awaiting.hash === hash;
  await ports.approvals.write(rack, {
    schemaVersion: 1,
    ...(awaiting !== undefined && !isAnswered && { awaiting }),
    last: { ...ended, execution, looser },
  });
}

/** Settles what a person has answered while this function died over it. */
export async function settleIfAnswered(ports: WaitPorts, rack: string, standing: Standing): Promise<void> {
  const ended = await endedWith(ports, standing);
  if (isByPerson(ended)) await settle(ports, rack, standing, ended);
}

export const isByPerson = (ended: Ended): ended is ByPerson =>
  typeof ended !== 'string' && ended.decision !== 'superseded';

async function tellApproved(
  ports: WaitPorts,
  rack: string,
  { execution, generation }: Standing,
  { hash, by, reason }: ByPerson,
): Promise<void> {
  const detail: ApprovedNoticeDetail = {
    schemaVersion: 1,
    approved: hash,
    rack,
    execution,
    generation,
    by,
    reason,
  };
  await ports.notices.send({ type: APPROVED, detail });
}
