/** The invariants of a rollout, watched while a scenario is played and judged when it has ended. */
import type { AuditEntry } from '../parts.ts';
import { allowedWrites, untouchedRack } from './allowed-writes.ts';
import { baselineRestored } from './baseline-restored.ts';
import { endsWell } from './ends-well.ts';
import { createCanaries } from './canary-put-back.ts';
import { createHistory } from './history.ts';
import { holdsInTable } from './holds-in-table.ts';
import { neverLooser } from './never-looser.ts';
import { noBuildLost } from './no-build-lost.ts';
import { oneWriter } from './one-writer.ts';
import { succeededIsRight } from './succeeded-is-right.ts';
import type { Rule, Truth, Violation } from './truth.ts';

export interface Invariants {
  /**
   * Judges the calls since the last check, and the world. To be called after every entry of the audit (each is judged
   * by what was just before it) and whenever an execution has ended. Returns what is new.
   */
  check(): Violation[];
  /** Once, when the run has ended. */
  atEnd(): Violation[];
}

/** To be made when the world stands and nothing has happened in it yet. */
export function createInvariants(truth: Truth): Invariants {
  const history = createHistory(truth);
  const canaries = createCanaries(truth, history);
  const rules: readonly Rule[] = [
    allowedWrites(truth, history),
    neverLooser(truth, history, canaries),
    canaries.rule,
    noBuildLost(truth, history),
    oneWriter(truth),
    untouchedRack(history),
    succeededIsRight(truth, history),
    endsWell(truth, history),
    holdsInTable(truth, history),
    baselineRestored(truth, history),
  ];
  let judged = truth.audit.length;
  history.look([]);

  const violation = (rule: Rule, at: Date, what: string): Violation => ({
    invariant: rule.invariant,
    at: at.toISOString(),
    what,
  });

  const check = (): Violation[] => {
    const entries: readonly AuditEntry[] = truth.audit.slice(judged);
    judged += entries.length;
    const found = entries.flatMap((entry) =>
      rules.flatMap((rule) => (rule.onCall?.(entry) ?? []).map((what) => violation(rule, entry.at, what))),
    );
    history.look(entries);
    const seen = rules.flatMap((rule) =>
      (rule.onLook?.() ?? []).map((what) => violation(rule, truth.now(), what)),
    );
    return [...found, ...seen];
  };

  return {
    check,
    atEnd: () => {
      const last = check();
      const ended = rules.flatMap((rule) =>
        (rule.atEnd?.() ?? []).map((what) => violation(rule, truth.now(), what)),
      );
      return [...last, ...ended];
    },
  };
}
