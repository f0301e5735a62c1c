/** Conclude: always the last step, after failure and time-out too. */
import { APPROVAL_SECONDS, changesInWords } from './approval.ts';
import { closeRollout, type ClosePorts } from './close.ts';
import type { Awaiting, Concluding, Next, State } from './state.ts';

/** What a Catch adds: the error's name, and its message as Lambda gives it; a time-out has none. */
interface Caught {
  Error: string;
  Cause?: string;
}

/** What reaches Conclude: a decided end, or whatever was under way when a step failed for good. */
export interface ConcludeInput {
  execution: string;
  startedAt: string;
  rack: string;
  state?: State;
  error?: Caught;
}

export function concludeStep(ports: ClosePorts, input: ConcludeInput): Promise<Next> {
  return closeRollout(ports, endingOf(input), { mayPutBack: true });
}

function endingOf(input: ConcludeInput): Concluding {
  const { execution, startedAt, rack, state, error } = input;
  if (state?.next === 'conclude' && error === undefined) return state;
  if (state?.next === 'await-approval' && error?.Error === 'States.Timeout') return expired(input, state);
  return {
    schemaVersion: 1,
    rack,
    execution,
    startedAt,
    looks: state?.looks ?? 0,
    next: 'conclude',
    outcome: 'Failed',
    reason: error === undefined ? 'the rollout ended without a decision' : inWords(error),
    ...known(state),
    // The step that puts it back failed for good: what it left is reconcile's.
    ...((state?.next === 'put-back-and-end' || state?.next === 'put-canary-back') && { canaryLeft: true }),
  };
}

/** What is known of the rollout beside its end. */
function known(state: State | undefined): Partial<Concluding> {
  if (state === undefined || state.next === 'end-wait') return {};
  if (state.next === 'await-approval') return { generation: state.question.generation };
  return {
    ...(state.generation !== undefined && { generation: state.generation }),
    ...(state.target !== undefined && { target: state.target }),
    ...(state.next !== 'conclude' &&
      state.next !== 'put-back-and-end' && { strategy: state.policy.strategy }),
  };
}

/** Nobody answered in the time that the workflow gives them. */
function expired({ execution, startedAt, rack }: ConcludeInput, { looks, question }: Awaiting): Concluding {
  const days = APPROVAL_SECONDS / 86_400;
  return {
    schemaVersion: 1,
    rack,
    execution,
    startedAt,
    looks,
    next: 'conclude',
    outcome: 'Expired',
    reason: `nobody approved or rejected ${question.hash} within ${String(days)} days: ${changesInWords(question)}`,
    generation: question.generation,
  };
}

/** Lambda's Cause is JSON with errorType and errorMessage; other causes are plain text. */
function inWords({ Error: name, Cause }: Caught): string {
  if (Cause === undefined) return name;
  try {
    const { errorMessage } = JSON.parse(Cause) as { errorMessage?: string };
    return `${name}: ${errorMessage ?? Cause}`;
  } catch {
    return `${name}: ${Cause}`;
  }
}
