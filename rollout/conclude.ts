/** Conclude: always the last step, after failure and time-out too. */
import { closeRollout, type ClosePorts } from './close.ts';
import type { Concluding, Rolling, State } from './state.ts';

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

export function concludeStep(ports: ClosePorts, input: ConcludeInput): Promise<Concluding | Rolling> {
  return closeRollout(ports, endingOf(input));
}

function endingOf({ execution, startedAt, rack, state, error }: ConcludeInput): Concluding {
  if (state?.next === 'conclude' && error === undefined) return state;
  return {
    schemaVersion: 1,
    rack,
    execution,
    startedAt,
    looks: state?.looks ?? 0,
    next: 'conclude',
    outcome: 'Failed',
    reason: error === undefined ? 'the rollout ended without a decision' : inWords(error),
    ...(state?.generation !== undefined && { generation: state.generation }),
    ...(state?.target !== undefined && { target: state.target }),
    ...(state !== undefined && state.next !== 'conclude' && { strategy: state.policy.strategy }),
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
