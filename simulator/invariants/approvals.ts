/**
 * What people approved of, from what they were told and what they typed: the notice says what a hash stands for, and
 * whoever proves who they are approves of that and of nothing else. Without the product's own memory of it, on purpose.
 */
import type { Options } from '../../rollout/record.ts';
import type { AuditEntry } from '../parts.ts';
import { optionNames } from './ask.ts';

export const awaitedNotice = 'IMDS Rollout Approval Awaited';

export interface Approvals {
  note(entry: AuditEntry): void;
  /** Whether somebody approved of exactly these values. */
  cover(target: Options): boolean;
  /** Something else is accepted now: coming back to what was approved before needs somebody again. */
  onlyFor(target: Options): void;
}

const canonical = (options: Record<string, unknown>): string =>
  JSON.stringify(optionNames.map((option) => options[option] ?? null));

export function createApprovals(): Approvals {
  /** By hash, what the notice said that options are to be. */
  const told = new Map<string, string>();
  let approved: string[] = [];
  return {
    note({ api, target, body, caller, error }) {
      const said = fieldsOf(body);
      if (api === 'events:PutEvents' && target === awaitedNotice && error === undefined) {
        told.set(String(said['hash']), canonical(targetOf(said['changes'])));
      }
      const isDecision = api === 'lambda:Invoke' && caller.function === 'person';
      if (isDecision && said['decision'] === 'approved' && said['by'] !== null) {
        const values = told.get(String(said['hash']));
        if (values !== undefined) approved.push(values);
      }
    },
    cover: (target) => approved.includes(canonical({ ...target })),
    onlyFor(target) {
      approved = approved.filter((values) => values === canonical({ ...target }));
    },
  };
}

function targetOf(changes: unknown): Record<string, unknown> {
  if (!Array.isArray(changes)) return {};
  return Object.fromEntries(changes.map(fieldsOf).map(({ option, to }) => [String(option), to]));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
