/** Parameters and what they ask for, in words. */
import type { Decision } from '../../rollout/desired.ts';
import { inWords } from '../../rollout/options.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Assignment } from '../assignments.ts';
import type { Effective } from '../effective.ts';
import type { Foreseen } from '../foresee.ts';
import { dim } from './style.ts';
import { renderTable } from './table.ts';

/** What is stored, and what counts. */
export function parametersText(rows: readonly Effective[]): string {
  return renderTable(
    ['PARAMETER', 'STORED', 'EFFECTIVE', 'FROM', 'GROUPS', 'SET'],
    rows.map(({ key, groups, stored, effective, from }) => [
      key,
      stored === null ? dim('–') : valueText(stored),
      effective ?? dim('–'),
      from,
      groups.join(', ') || dim('–'),
      stored?.lastModifiedDate ?? dim('–'),
    ]),
  );
}

const valueText = ({ value, type }: Pick<StoredParameter, 'value' | 'type'>): string =>
  type === 'String' ? value : `${value} (${type})`;

/** Who wrote what, and when, the newest last. */
export const historyText = (versions: readonly StoredParameter[]): string =>
  renderTable(
    ['VERSION', 'VALUE', 'SET', 'BY'],
    versions.map((version) => [
      String(version.version),
      valueText(version),
      version.lastModifiedDate,
      version.lastModifiedUser ?? 'unknown',
    ]),
  );

/** What a rollout would come to, where it is not simply accepted. */
export function foreseenText(foreseen: Exclude<Foreseen, { kind: 'accepted' }>): string {
  switch (foreseen.kind) {
    case 'awaits':
      return `A rollout of it would wait for an approval: ${foreseen.why}`;
    case 'refused':
      return `A rollout of it would be refused now: ${foreseen.why}`;
    case 'untold':
      return `Whether a rollout of it would be accepted cannot be told: ${foreseen.why}`;
  }
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
