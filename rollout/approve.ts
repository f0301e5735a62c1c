/**
 * Approval: a rollout asks a person and waits, and a newer one ends that wait. The token that ends the wait is in the
 * hands of these steps alone: it is written encrypted, and is in no log, record, report or error.
 */
import { APPROVAL_SECONDS, approveCommand, changesInWords, type Decided } from './approval.ts';
import type { DecidePorts } from './decide.ts';
import { AWAITED, type AwaitedNoticeDetail } from './notice.ts';
import type { Awaiting, EndWait } from './state.ts';
import { endWait, isByPerson, runs, settle, settleIfAnswered, type Standing } from './wait.ts';

export type ApprovePorts = DecidePorts;

/**
 * Asks for approval: keeps the token of the wait, tells people, and writes down what they are asked. Again with another
 * token it replaces the token and tells nobody a second time. An earlier execution that waits is ended; where a newer
 * one waits, this one is.
 */
export async function askStep(ports: ApprovePorts, state: Awaiting, token: string): Promise<void> {
  const { rack, execution, startedAt, question } = state;
  const { awaiting } = await ports.approvals.read(rack);
  const other = awaiting?.execution === execution ? undefined : awaiting;
  if (other !== undefined && (await runs(ports, other))) {
    if (isLater(other, state)) {
      await ports.workflow.answer(token, superseded(ports, other.execution));
      return;
    }
    await endWaitOf(ports, rack, other, execution);
  }
  const isAsked = awaiting?.execution === execution && awaiting.hash === question.hash;
  // Its own earlier question has been answered, or it would not ask another one.
  if (awaiting?.execution === execution && !isAsked) await settleIfAnswered(ports, rack, awaiting);
  const kept = await ports.waitTokens.read(rack);
  if (kept?.token !== token) await ports.waitTokens.keep(rack, { execution, token });
  if (isAsked) return;
  const now = ports.clock.now();
  const until = new Date(now.getTime() + APPROVAL_SECONDS * 1000).toISOString();
  const asked: Standing = { ...question, execution, startedAt, askedAt: now.toISOString(), until };
  await tellAwaited(ports, rack, asked);
  // Last: until it is written, the next try asks once more.
  await ports.approvals.write(rack, { ...(await ports.approvals.read(rack)), awaiting: asked });
}

/** Ends the wait of an earlier execution, which ends `Superseded` unless a person has answered before. */
export async function endWaitStep(ports: ApprovePorts, { rack, execution, earlier }: EndWait): Promise<void> {
  const { awaiting } = await ports.approvals.read(rack);
  if (awaiting?.execution === earlier) await endWaitOf(ports, rack, awaiting, execution);
}

type Started = Pick<Standing, 'execution' | 'startedAt'>;
const isLater = (one: Started, other: Started): boolean =>
  one.startedAt === other.startedAt ? one.execution > other.execution : one.startedAt > other.startedAt;

const superseded = ({ clock }: ApprovePorts, by: string): Decided => ({
  decision: 'superseded',
  by,
  at: clock.now().toISOString(),
});

/** Ends a wait in favour of another execution; where a person came first, what they said is settled. */
async function endWaitOf(ports: ApprovePorts, rack: string, standing: Standing, by: string): Promise<void> {
  const ended = await endWait(ports, rack, standing, superseded(ports, by));
  if (isByPerson(ended)) {
    await settle(ports, rack, standing, ended);
    return;
  }
  const { awaiting: _, ...rest } = await ports.approvals.read(rack);
  await ports.approvals.write(rack, rest);
}

async function tellAwaited(ports: ApprovePorts, rack: string, asked: Standing): Promise<void> {
  const registration = await ports.records.registration(rack);
  const {
    execution,
    hash,
    generation,
    class: nodeClass,
    changes,
    looser,
    strategy,
    owners,
    why,
    until,
  } = asked;
  const detail: AwaitedNoticeDetail = {
    schemaVersion: 1,
    awaits: 'approval',
    rack,
    cluster: registration?.cluster ?? null,
    execution,
    generation,
    hash,
    class: nodeClass,
    changes,
    looser,
    strategy,
    owners,
    until,
    reason: `EC2NodeClass ${nodeClass}: ${changesInWords(asked)}. A person has to approve, since ${why}`,
    command: approveCommand(rack, hash),
  };
  await ports.notices.send({ type: AWAITED, detail });
}
