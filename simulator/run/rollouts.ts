/** What became of each execution, read from its status, its output and the payload that its steps handed on. */
import { outcomes, type Outcome } from '../../rollout/record.ts';
import type { ExecutionRecord } from '../account/execution.ts';
import { isObject } from '../account/execution.ts';
import type { RolloutResult } from './result.ts';

export function collectRollouts(executions: readonly ExecutionRecord[]): RolloutResult[] {
  return executions.map((execution) => ({
    execution: execution.name,
    generation: textOf(execution.payload['generation']),
    ...outcomeOf(execution),
    startedAt: execution.startedAt.toISOString(),
    compliantAt: textOf(execution.payload['compliantAt']),
    endedAt: execution.endedAt?.toISOString() ?? null,
    transitions: execution.transitions,
    historyEvents: execution.historyEvents,
    maxPayloadBytes: execution.maxPayloadBytes,
  }));
}

/** The last execution that decided anything speaks for the run, else the last one. */
export function lastWord(rollouts: readonly RolloutResult[]): Pick<RolloutResult, 'outcome' | 'reason'> {
  const ended = rollouts.filter(({ outcome }) => outcome !== null);
  const speaker =
    ended.findLast(({ outcome }) => outcome !== 'NothingToDo' && outcome !== 'Superseded') ?? ended.at(-1);
  return { outcome: speaker?.outcome ?? null, reason: speaker?.reason ?? null };
}

function outcomeOf(execution: ExecutionRecord): Pick<RolloutResult, 'outcome' | 'reason'> {
  const { status, error, cause, payload, output } = execution;
  switch (status) {
    case 'RUNNING':
      return { outcome: null, reason: null };
    case 'SUCCEEDED': {
      const said = isObject(output) ? output : payload;
      return {
        outcome: asOutcome(said['outcome']) ?? 'Failed',
        reason: textOf(said['reason']) ?? 'the execution succeeded without a reason',
      };
    }
    case 'FAILED':
      // An Error that is no outcome is a fault of the workflow itself.
      return asOutcome(error)
        ? { outcome: asOutcome(error), reason: cause ?? String(error) }
        : { outcome: 'Failed', reason: [error, cause].filter((part) => part !== undefined).join(': ') };
    case 'TIMED_OUT':
      return { outcome: 'Failed', reason: 'the execution timed out' };
    case 'ABORTED':
      return { outcome: 'Aborted', reason: cause ?? 'the execution was stopped by hand' };
  }
}

function asOutcome(value: unknown): Outcome | null {
  return outcomes.find((outcome) => outcome === value) ?? null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
