/**
 * 4. Two rollouts never write for one class, but for calls in flight at a hand-over. Once an execution has written,
 * an older writer may finish calls of an invocation that had begun before, and nothing else. Functions outside any
 * execution (reconcile) do not write while one that has written runs.
 */
import type { AuditEntry } from '../parts.ts';
import { changes, isOurs } from './facts.ts';
import { inFlight } from './history.ts';
import type { Rule, Truth } from './truth.ts';

interface Writer {
  execution: string;
  firstAt: number;
}

/** Invariant 4. */
export function oneWriter(truth: Truth): Rule {
  /** By first write, the present writer last. */
  const writers: Writer[] = [];
  /** By invocation, when its calls of the last two minutes were made: an earlier invocation's excuse no later one. */
  const calls = new Map<string, number[]>();

  const begunBefore = (entry: AuditEntry, moment: number): boolean =>
    (calls.get(keyOf(entry)) ?? []).some((at) => at <= moment && at >= entry.at.getTime() - inFlight);

  const judge = (entry: AuditEntry): string[] => {
    const now = entry.at.getTime();
    const present = writers.at(-1);
    const { execution } = entry.caller;
    if (execution === undefined) {
      if (present === undefined || !isRunning(truth, present.execution)) return [];
      if (now - present.firstAt <= inFlight && begunBefore(entry, present.firstAt)) return [];
      return [`${inWords(entry)} while execution ${present.execution} runs and writes`];
    }
    if (present?.execution === execution) return [];
    if (!writers.some((writer) => writer.execution === execution)) {
      if (present !== undefined && startOf(truth, execution) < startOf(truth, present.execution)) {
        // Its very first change may be the one that was in flight.
        if (now - present.firstAt <= inFlight && begunBefore(entry, present.firstAt)) return [];
        return [
          `${inWords(entry)} for execution ${execution} although the newer ${present.execution} has written`,
        ];
      }
      writers.push({ execution, firstAt: now });
      return [];
    }
    const since = writers.find(
      ({ firstAt }, index) => writers[index - 1]?.execution === execution && firstAt <= now,
    );
    const handedOver = since?.firstAt ?? present?.firstAt ?? now;
    if (now - handedOver <= inFlight && begunBefore(entry, handedOver)) return [];
    return [
      `${inWords(entry)} for execution ${execution} after execution ${present?.execution ?? ''} had written`,
    ];
  };

  return {
    invariant: '4 one-writer',
    onCall(entry) {
      if (!isOurs(entry)) return [];
      const found = changes(entry) ? judge(entry) : [];
      const times = calls.get(keyOf(entry)) ?? [];
      const recent = times.filter((at) => at >= entry.at.getTime() - inFlight);
      calls.set(keyOf(entry), [...recent, entry.at.getTime()]);
      return found;
    },
  };
}

function keyOf({ caller }: AuditEntry): string {
  return `${caller.function} ${caller.execution ?? ''} ${caller.invocation ?? ''}`;
}

function inWords(entry: AuditEntry): string {
  return `${entry.caller.function} wrote ${entry.target ?? ''} (${entry.api})`;
}

function isRunning(truth: Truth, name: string): boolean {
  return truth.executions().some((execution) => execution.name === name && execution.endedAt === null);
}

function startOf(truth: Truth, name: string): number {
  return Date.parse(truth.executions().find((execution) => execution.name === name)?.startedAt ?? '');
}
