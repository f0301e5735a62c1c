/** Parameters and what they ask for, in words. */
import type { Decision } from '../../rollout/desired.ts';
import { inWords } from '../../rollout/options.ts';
import { isKey, parameters } from '../../rollout/parameters.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Assignment } from '../assignments.ts';
import { dim } from './style.ts';
import { renderTable } from './table.ts';

/** What is stored. */
export function parametersText(stored: readonly StoredParameter[]): string {
  const rows = stored.map(({ key, value, type, lastModifiedDate }) => [
    key,
    type === 'String' ? value : `${value} (${type})`,
    isKey(key) ? parameters[key].groups.join(', ') : dim('–'),
    lastModifiedDate,
  ]);
  return renderTable(['PARAMETER', 'VALUE', 'GROUPS', 'SET'], rows);
}

export interface Changes {
  rack: string;
  before: readonly StoredParameter[];
  assignments: readonly Assignment[];
  /** False for a scenario. */
  written: boolean;
}

/** What was written, or would be. */
export function changesText({ rack, before, assignments, written }: Changes): string {
  const rows = assignments.map(({ key, value }) => {
    const old = before.find((parameter) => parameter.key === key)?.value;
    return [key, old ?? '(not set)', value ?? (old === undefined ? '(not set)' : '(deleted)')];
  });
  const title = written
    ? `Written on rack ${rack}:`
    : `Would be written on rack ${rack}; a scenario is only played, so nothing is:`;
  return `${title}\n${renderTable(['PARAMETER', 'FROM', 'TO'], rows)}`;
}

/** What the rack asks for now, or would. */
export function decisionText(decision: Decision, written: boolean): string {
  const asks = written ? 'asks' : 'would ask';
  switch (decision.kind) {
    case 'refused':
      return decision.refusals.join('\n');
    case 'inert':
      return `The rack ${asks} for nothing yet: ${decision.why}.`;
    case 'asksNothing':
      return `The rack ${asks} for nothing.`;
    case 'asks': {
      const sources = Object.entries(decision.sources).map(([option, key]) => `${option} from ${key}`);
      const notices = decision.notices.map((notice) => `\nNotice: ${notice}`).join('');
      const from = sources.length === 0 ? '' : ` (${sources.join(', ')})`;
      return `The rack ${asks} for ${inWords(decision.ask)}${from}.${notices}`;
    }
  }
}
