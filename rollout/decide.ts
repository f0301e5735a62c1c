/** A person's decision about the question that a rollout waits with, in their name. */
import { z } from 'zod';
import { changesInWords, DECISION_REASON_LENGTH, type Approval } from './approval.ts';
import { InvalidError, RolloutError, TransientError } from './errors.ts';
import type { Claim, Ports } from './ports.ts';
import { endWait, isByPerson, runs, settle, type Standing, type WaitPorts } from './wait.ts';

export type DecidePorts = WaitPorts & Pick<Ports, 'records' | 'identities'>;

/** What was wrong with a decision, in words for the one who made it. Nothing was decided by it. */
export class DecisionRefused extends RolloutError {
  override name = 'DecisionRefused';
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

/** Hears which rollout a decision turns out to be about. */
export type About = (of: Pick<Standing, 'execution' | 'generation'>) => void;

/**
 * Carries out what a person decided. The same request again, e.g. after a death of the function, comes to the same
 * decision. Throws DecisionRefused where it does not count, and TransientError where that cannot be told yet.
 */
export async function decideStep(
  ports: DecidePorts,
  request: DecisionRequest,
  about: About = () => undefined,
): Promise<Decision> {
  const { rack, hash, decision, reason } = request;
  refuseReason(reason);
  if ((await ports.records.registration(rack)) === undefined) {
    throw new DecisionRefused(
      `rack ${rack} is not registered: \`imds-rollout rack list\` names those that are`,
    );
  }
  const by = await identified(ports, request.identity, { rack, hash, decision, reason });
  const { awaiting, last } = await ports.approvals.read(rack);
  if (awaiting === undefined) return decidedBefore(request, by, last);
  about(awaiting);
  await refuseOther(ports, awaiting, hash);
  const at = ports.clock.now().toISOString();
  const ended = await endWait(ports, rack, awaiting, { decision, hash, by, reason, at });
  if (ended === 'untold') throw untold(awaiting);
  if (!isByPerson(ended)) throw over(awaiting);
  await settle(ports, rack, awaiting, ended);
  return asDecided(request, by, { ...ended, execution: awaiting.execution });
}

function refuseReason(reason: string): void {
  if (reason.trim() !== '' && reason.length <= DECISION_REASON_LENGTH) return;
  const what = reason.trim() === '' ? 'is empty' : `has ${String(reason.length)} characters`;
  throw new DecisionRefused(
    `the reason ${what}; accepted is a text of 1 to ${String(DECISION_REASON_LENGTH)} characters that says why`,
  );
}

async function identified(ports: DecidePorts, proof: string, claim: Claim): Promise<string> {
  try {
    return await ports.identities.verify(proof, claim);
  } catch (error) {
    if (error instanceof InvalidError) throw new DecisionRefused(error.message, { cause: error });
    throw error;
  }
}

/** Refuses a decision about another question than the one that stands. */
async function refuseOther(ports: DecidePorts, awaiting: Standing, hash: string): Promise<void> {
  if (awaiting.hash === hash) return;
  if (!(await runs(ports, awaiting))) throw over(awaiting);
  throw new DecisionRefused(
    `${hash} is not what waits for approval; that is ${awaiting.hash}: ${changesInWords(awaiting)}`,
  );
}

/** A request where no question stands: the same as the last one comes to the same. */
function decidedBefore(request: DecisionRequest, by: string, last: Approval['last']): Decision {
  if (last?.hash === request.hash) return asDecided(request, by, last);
  throw new DecisionRefused(`no rollout of rack ${request.rack} waits for approval`);
}

/** The decision that stands, to the one who made it with these words; refuses everybody else's. */
function asDecided(
  { rack, hash, decision, reason }: DecisionRequest,
  by: string,
  said: Omit<NonNullable<Approval['last']>, 'looser'>,
): Decision {
  if (said.decision === decision && said.by === by && said.reason === reason) {
    return { rack, hash, decision, by, execution: said.execution };
  }
  throw new DecisionRefused(`${hash} was ${said.decision} already, by ${said.by} at ${said.at}`);
}

const over = ({ execution, until }: Standing): DecisionRefused =>
  new DecisionRefused(
    `${execution} does not wait for approval any more (it would have until ${until}): \`imds-rollout status\` says how it ended`,
  );

const untold = ({ execution }: Standing): TransientError =>
  new TransientError(
    `${execution} takes no answer, and has none yet that Step Functions shows: give the same command again in a minute, and stop the execution if it stays so`,
  );
