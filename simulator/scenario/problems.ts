/** From zod's issues to problems in the words of the format. */
import type { z } from 'zod';
import { acceptedKeys } from './accepted-keys.ts';
import type { Path, Problem } from './check.ts';
import { suggest } from './suggest.ts';

/** One problem for every issue, and for every key of an issue about keys. */
export function problemsOf(
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
): Problem[] {
  return issues.flatMap((issue) => problemsOfIssue(schema, issue, input));
}

function problemsOfIssue(schema: z.ZodType, issue: z.core.$ZodIssue, input: unknown): Problem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...path, key],
      what: unknownKey(key, acceptedKeys(schema, path)),
    }));
  }
  if (issue.code === 'invalid_key') {
    return [
      { path, what: `the key is not accepted; accepted: ${issue.issues[0]?.message ?? issue.message}` },
    ];
  }
  if (issue.code === 'invalid_union') {
    const inner = deepest(issue.errors);
    // A member that fits but for something inside says more than "none of these fits".
    if (inner)
      return problemsOf(
        schema,
        inner.map((found) => ({ ...found, path: [...path, ...found.path] })),
        input,
      );
  }
  const value = valueAt(input, path);
  if (value === undefined) return [{ path, what: `is missing; accepted: ${accepted(issue.message)}` }];
  return [
    { path, what: `${show(value)} is not accepted; accepted: ${issue.message}${nearest(issue, value)}` },
  ];
}

/** The union member's issues that reach inside the value, or that are about its content and not its type. */
function deepest(errors: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | undefined {
  const inside = (issue: z.core.$ZodIssue): boolean =>
    issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'too_small';
  return errors.find((issues) => issues.some(inside));
}

function unknownKey(key: string, keys: readonly string[]): string {
  const near = suggest(key, keys);
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  return `unknown key${hint}; accepted: ${keys.join(', ')}`;
}

function nearest(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return '';
  const near = suggest(value, issue.values.map(String));
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

function accepted(message: string): string {
  return message.startsWith('Invalid input') ? 'a value' : message;
}

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function valueAt(input: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (value as Record<string | number, unknown>)[key]
        : undefined,
    input,
  );
}
