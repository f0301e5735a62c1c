/** 2. No write makes an option looser than the last accepted ask; taking back is recorded as one. */
import type { Options } from '../../rollout/record.ts';
import type { AuditEntry } from '../parts.ts';
import { isLooser, optionNames } from './ask.ts';
import { fields, isOurs, patchedOptions } from './facts.ts';
import type { Canaries } from './canary-put-back.ts';
import type { History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

/** Invariant 2. */
export function neverLooser(
  truth: Truth,
  history: History,
  canaries: Pick<Canaries, 'before'> = { before: () => undefined },
): Rule {
  return {
    invariant: '2 never-looser',
    onCall(entry) {
      if (!isOurs(entry) || !entry.write || entry.error !== undefined) return [];
      if (entry.api === 'ec2:ModifyInstanceMetadataOptions') return looserInstance(history, entry, canaries);
      return looserClass(truth, history, entry);
    },
  };
}

function looserClass(truth: Truth, history: History, entry: AuditEntry): string[] {
  const written = valuesOf(patchedOptions(entry));
  return optionNames
    .filter(
      (option) =>
        isTooLoose(history, option, written) && !isTakingBack(truth, history, option, written[option]),
    )
    .map((option) => inWords(history, entry, option, written));
}

function looserInstance(history: History, entry: AuditEntry, canaries: Pick<Canaries, 'before'>): string[] {
  const written = valuesOf(fields(entry.body));
  const before = history.instanceBefore(entry.target ?? '');
  // A canary is put back to exactly what it was: its mark is the record of that.
  const marked = canaries.before(entry.target ?? '');
  return optionNames
    .filter((option) => {
      if (marked !== undefined && written[option] === marked[option]) return false;
      const owned = history.acceptable().some(({ target }) => target[option] !== undefined);
      return owned
        ? isTooLoose(history, option, written)
        : isLooser(option, written[option], before?.[option]);
    })
    .map((option) => inWords(history, entry, option, written));
}

/** Looser than every ask that could have been read by a call that is made now. */
function isTooLoose(history: History, option: keyof Options, written: Options): boolean {
  const targets = history.acceptable().map(({ target }) => target[option]);
  if (written[option] === undefined || targets.every((value) => value === undefined)) return false;
  return targets.every((value) => value === undefined || isLooser(option, written[option], value));
}

/** Recorded as a taking back, and to a value that the class had before we wrote it. */
function isTakingBack(truth: Truth, history: History, option: keyof Options, value: unknown): boolean {
  return truth.record()?.takingBack !== undefined && history.priorValues(option).has(value);
}

function valuesOf(written: Record<string, unknown> | undefined): Options {
  const tokens = written?.['httpTokens'];
  const limit = written?.['httpPutResponseHopLimit'];
  return {
    ...(tokens === 'optional' || tokens === 'required' ? { httpTokens: tokens } : {}),
    ...(typeof limit === 'number' ? { httpPutResponseHopLimit: limit } : {}),
  };
}

function inWords(history: History, entry: AuditEntry, option: keyof Options, written: Options): string {
  const asked = history.newest()?.target[option];
  const wanted = asked === undefined ? 'nobody asks for it' : `the last accepted ask is ${String(asked)}`;
  return `${entry.caller.function} set ${option} of ${entry.target ?? ''} to ${String(written[option])}; ${wanted}`;
}
