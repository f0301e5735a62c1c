/** What every step of a running rollout begins with: the same reads, and the same question whether to go on. */
import { askedNow } from './ask.ts';
import { TransientError } from './errors.ts';
import { readGround, registrationOf, type Ground } from './ground.ts';
import { createGuard, type Guard } from './guard.ts';
import { executionName, executionsOf } from './naming.ts';
import { datesOf, namesHash } from './plan.ts';
import type { Ports } from './ports.ts';
import type { RolloutRecord } from './record.ts';
import { conclude, type Concluding, type Next, type Rolling } from './state.ts';
import { AskWithdrawn, TurnLost } from './turn.ts';

export type RunPorts = Pick<Ports, 'clock' | 'parameters' | 'records' | 'clusters' | 'workflow'>;

export interface Running {
  /** With the policy as the parameters have it now. */
  state: Rolling;
  ground: Ground;
  record: RolloutRecord;
  /** Hash of the names of the parameters as they are now. */
  asked: string;
  guard: Guard;
}

/**
 * Runs one step of a rollout on what is there now. The step is not run, and the rollout ends, where pool or class
 * vanished or may no longer be written, or another purpose is asked for; it ends `Superseded` too where the step
 * loses its turn half-way.
 */
export async function runStep(
  ports: RunPorts,
  state: Rolling,
  step: (running: Running) => Promise<Next>,
): Promise<Next> {
  const { registration, others } = await registrationOf(ports, state.rack);
  if (registration === undefined)
    return conclude(state, 'Withdrawn', `rack ${state.rack} is not registered any more`);
  const read = await readGround(ports, registration, others);
  if (read.kind === 'gone') return conclude(state, 'Withdrawn', read.why);
  // A class on its way out is withdrawn like one that is gone; what runs on its nodes is protected until it ends.
  if (read.refusal !== undefined)
    return conclude(state, read.leaves === true ? 'Withdrawn' : 'Failed', read.refusal);
  const { ground } = read;
  const askedAt = ports.clock.now().getTime();
  const [parameters, record] = await Promise.all([
    ports.parameters.list(state.rack),
    ports.records.read(state.rack),
  ]);
  const asked = askedNow(state, parameters, record, ground.nodeClass);
  if (asked.kind === 'withdrawn') return conclude(state, 'Withdrawn', asked.why);
  if (asked.kind === 'other') return supersede(ports, state, asked.why);
  const guard = createGuard(ports, ground, state, askedAt);
  try {
    const next = await step({
      state: { ...state, policy: asked.policy },
      ground,
      record,
      asked: namesHash(parameters),
      guard,
    });
    // Written from now on, a parameter was not decided by, however long it takes to conclude.
    return next.next === 'conclude' || next.next === 'put-back-and-end'
      ? { ...next, parameters: datesOf(parameters) }
      : next;
  } catch (error) {
    if (error instanceof AskWithdrawn) return conclude(state, 'Withdrawn', error.message);
    if (error instanceof TurnLost) return supersede(ports, state, error.message);
    throw error;
  }
}

/** Ends `Superseded`, and makes sure that somebody carries on with what is asked now. */
async function supersede(ports: RunPorts, state: Rolling, why: string): Promise<Concluding> {
  const running = executionsOf(state.rack, await ports.workflow.running());
  const successor = running.find(
    ({ name, startedAt }) => name !== state.execution && startedAt >= state.startedAt,
  );
  const name = executionName(state.rack, ports.clock.now());
  // A Lambda that outlives its execution: whoever stopped that has decided for now.
  const isStopped = running.every((each) => each.name !== state.execution);
  if (isStopped) return conclude(state, 'Superseded', why);
  if (successor === undefined && (await ports.workflow.start(name, state.rack)) === 'closed') {
    throw new TransientError(
      `execution ${name} has ended already: a successor has to wait for the next name`,
    );
  }
  return conclude(state, 'Superseded', why);
}
