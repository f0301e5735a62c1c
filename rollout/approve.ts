/**
 * Approval: a rollout asks a person and waits, a newer one ends that wait, and a person answers. The token that ends the
 * wait is in the hands of these steps alone: it is written encrypted, and is in no log, record, report or error.
 */
import { z } from 'zod';
import {
  APPROVAL_SECONDS,
  approveCommand,
  changesInWords,
  DECISION_REASON_LENGTH,
  type Approval,
  type Decided,
} from './approval.ts';
import { InvalidError, RolloutError } from './errors.ts';
import { registrationOf } from './ground.ts';
import { APPROVED, AWAITED, type ApprovedNoticeDetail, type AwaitedNoticeDetail } from './notice.ts';
import type { Claim, Ports } from './ports.ts';
import type { Awaiting, EndWait } from './state.ts';

export type ApprovePorts = Pick<
  Ports,
  'clock' | 'records' | 'approvals' | 'waitTokens' | 'identities' | 'workflow' | 'notices'
>;

/** What was wrong with a decision, in words for the one who made it. Nothing was written. */
export class DecisionRefused extends RolloutError {
  override name = 'DecisionRefused';
}

type Standing = NonNullable<Approval['awaiting']>;

/**
 * Asks for approval: keeps the token of the wait, tells people, and writes down what they are asked. Again with another
 * token it replaces the token and tells nobody a second time. An earlier execution that waits is ended; where a newer
 * one waits, this one is.
 */
export async function askStep(ports: ApprovePorts, state: Awaiting, token: string): Promise<void> {
  const { rack, execution, startedAt, question } = state;
  const stored = await ports.approvals.read(rack);
  const standing = stored.awaiting?.execution === execution ? undefined : stored.awaiting;
  if (standing !== undefined && (await waits(ports, standing))) {
    if (isLater(standing, state)) {
      await ports.workflow.answer(token, superseded(ports, standing.execution));
      return;
    }
    await endWaitOf(ports, rack, standing, execution);
  }
  const kept = await ports.waitTokens.read(rack);
  if (kept?.token !== token) await ports.waitTokens.keep(rack, { execution, token });
  const { awaiting } = stored;
  if (awaiting?.execution === execution && awaiting.hash === question.hash) return;
  const now = ports.clock.now();
  const until = new Date(now.getTime() + APPROVAL_SECONDS * 1000).toISOString();
  const asked: Standing = { ...question, execution, startedAt, askedAt: now.toISOString(), until };
  await tellAwaited(ports, rack, asked);
  // Last: until it is written, the next try asks once more.
  await ports.approvals.write(rack, { ...stored, awaiting: asked });
}

/** Ends the wait of an earlier execution, which ends `Superseded`. */
export async function endWaitStep(ports: ApprovePorts, { rack, execution, earlier }: EndWait): Promise<void> {
  const stored = await ports.approvals.read(rack);
  if (stored.awaiting?.execution !== earlier) return;
  await endWaitOf(ports, rack, stored.awaiting, execution);
  const { awaiting: _, ...rest } = stored;
  await ports.approvals.write(rack, rest);
}

export const decisionRequestSchema = z.strictObject({
  rack: z.string(),
  hash: z.string(),
  decision: z.enum(['approved', 'rejected']),
  reason: z.string(),
  /** A proof of identity for this rack, hash, decision and reason. */
  identity: z.string(),
});
export type DecisionRequest = z.infer<typeof decisionRequestSchema>;

const decisionTakenSchema = z.strictObject({
  rack: z.string(),
  hash: z.string(),
  decision: z.enum(['approved', 'rejected']),
  by: z.string(),
  execution: z.string(),
});
/** What was decided, and by whom. */
export type Decision = z.infer<typeof decisionTakenSchema>;

/** What the function answers to a request: the decision, or why it does not count. */
export const decisionAnswerSchema = z.union([z.strictObject({ refused: z.string() }), decisionTakenSchema]);
export type DecisionAnswer = z.infer<typeof decisionAnswerSchema>;

/** Carries out what a person decided. Throws DecisionRefused, and then has written nothing. */
export async function decideStep(ports: ApprovePorts, request: DecisionRequest): Promise<Decision> {
  const { rack, hash, decision, reason } = request;
  refuseReason(reason);
  if ((await registrationOf(ports, rack)).registration === undefined) {
    throw new DecisionRefused(
      `rack ${rack} is not registered: \`imds-rollout rack list\` names those that are`,
    );
  }
  const by = await identified(ports, request.identity, { rack, hash, decision, reason });
  const stored = await ports.approvals.read(rack);
  const standing = await standingFor(ports, rack, hash, stored);
  const at = ports.clock.now().toISOString();
  const decided: Decided = { decision, hash, by, reason, at };
  const kept = await ports.waitTokens.read(rack);
  if (kept?.execution !== standing.execution) throw over(standing);
  if ((await ports.workflow.answer(kept.token, decided)) !== 'answered') throw over(standing);
  const { execution, looser } = standing;
  await ports.approvals.write(rack, {
    schemaVersion: 1,
    last: { decision, hash, by, reason, at, execution, looser },
  });
  // Of a rejection the end of the rollout tells.
  if (decision === 'approved') await tellApproved(ports, rack, standing, by, reason);
  await ports.waitTokens.forget(rack, kept);
  return { rack, hash, decision, by, execution };
}

function refuseReason(reason: string): void {
  if (reason.trim() !== '' && reason.length <= DECISION_REASON_LENGTH) return;
  const what = reason.trim() === '' ? 'is empty' : `has ${String(reason.length)} characters`;
  throw new DecisionRefused(
    `the reason ${what}; accepted is a text of 1 to ${String(DECISION_REASON_LENGTH)} characters that says why`,
  );
}

async function identified(ports: ApprovePorts, proof: string, claim: Claim): Promise<string> {
  try {
    return await ports.identities.verify(proof, claim);
  } catch (error) {
    if (error instanceof InvalidError) throw new DecisionRefused(error.message, { cause: error });
    throw error;
  }
}

/** The question that a decision is about; refuses one about anything else. */
async function standingFor(
  ports: ApprovePorts,
  rack: string,
  hash: string,
  { awaiting, last }: Approval,
): Promise<Standing> {
  if (awaiting === undefined) {
    if (last?.hash === hash) {
      throw new DecisionRefused(`${hash} was ${last.decision} already, by ${last.by} at ${last.at}`);
    }
    throw new DecisionRefused(`no rollout of rack ${rack} waits for approval`);
  }
  if (!(await waits(ports, awaiting))) throw over(awaiting);
  if (awaiting.hash !== hash) {
    throw new DecisionRefused(
      `${hash} is not what waits for approval; that is ${awaiting.hash}: ${changesInWords(awaiting)}`,
    );
  }
  return awaiting;
}

const over = ({ execution, until }: Standing): DecisionRefused =>
  new DecisionRefused(
    `${execution} does not wait for approval any more (it would have until ${until}): \`imds-rollout status\` says how it ended`,
  );

const waits = async ({ workflow }: ApprovePorts, { execution }: Standing): Promise<boolean> =>
  (await workflow.describe(execution))?.status === 'RUNNING';

type Started = Pick<Standing, 'execution' | 'startedAt'>;
const isLater = (one: Started, other: Started): boolean =>
  one.startedAt === other.startedAt ? one.execution > other.execution : one.startedAt > other.startedAt;

const superseded = ({ clock }: ApprovePorts, by: string): Decided => ({
  decision: 'superseded',
  by,
  at: clock.now().toISOString(),
});

async function endWaitOf(ports: ApprovePorts, rack: string, standing: Standing, by: string): Promise<void> {
  const kept = await ports.waitTokens.read(rack);
  if (kept?.execution !== standing.execution) return;
  await ports.workflow.answer(kept.token, superseded(ports, by));
  await ports.waitTokens.forget(rack, kept);
}

async function tellAwaited(ports: ApprovePorts, rack: string, asked: Standing): Promise<void> {
  const { registration } = await registrationOf(ports, rack);
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

async function tellApproved(
  ports: ApprovePorts,
  rack: string,
  { execution, hash, generation }: Standing,
  by: string,
  reason: string,
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
