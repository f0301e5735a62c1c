/** What a scenario expects: any subset of the result, and how the two differ, in words. */
import { resultSchema } from '../run/result.ts';
import { acceptedKeys, acceptedWords } from './accepted-keys.ts';
import type { Path, Problem } from './check.ts';
import { suggest } from './suggest.ts';

type Fields = Record<string, unknown>;

/** Keys that no result has, refused when the scenario is read and not after hours of virtual time. */
export function expectationProblems(expect: Fields | undefined): Problem[] {
  return unknownKeys(expect, []);
}

function unknownKeys(expected: unknown, path: Path): Problem[] {
  if (Array.isArray(expected)) return expected.flatMap((item, index) => unknownKeys(item, [...path, index]));
  if (!isFields(expected)) return wrongWord(expected, path);
  const accepted = acceptedKeys(resultSchema, path);
  return Object.entries(expected).flatMap(([key, value]): Problem[] => {
    // Where nothing is listed, any key is one: names of classes, APIs, parameters.
    if (accepted.length === 0 || accepted.includes(key)) return unknownKeys(value, [...path, key]);
    const near = suggest(key, accepted);
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
    const what = `the result has no such key${hint}; accepted: ${accepted.join(', ')}`;
    return [{ path: ['expect', ...path, key], what }];
  });
}

/** A word that the result never has there, as `succeeded` for an outcome. */
function wrongWord(expected: unknown, path: Path): Problem[] {
  const accepted = acceptedWords(resultSchema, path);
  if (typeof expected !== 'string' || accepted.length === 0 || accepted.includes(expected)) return [];
  const near = suggest(expected, accepted);
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  const what = `${JSON.stringify(expected)} is never there${hint}; accepted: ${accepted.join(', ')}`;
  return [{ path: ['expect', ...path], what }];
}

/**
 * The differences in words; none where the expectation holds. Objects are compared on the expected keys only. A list
 * of names compares as a set, also with a list of objects that have names. Of a list of objects each expected one
 * must be matched by another of the result's; an empty list expects an empty one.
 */
export function differences(expect: Fields, result: Fields): string[] {
  return differ('', expect, result);
}

function differ(path: string, expected: unknown, actual: unknown): string[] {
  if (Array.isArray(expected)) return differLists(path, expected, actual);
  if (!isFields(expected)) {
    return Object.is(expected, actual) ? [] : [`${path}: expected ${show(expected)}, got ${show(actual)}`];
  }
  if (!isFields(actual)) return [`${path}: expected ${show(expected)}, got ${show(actual)}`];
  return Object.entries(expected).flatMap(([key, value]) =>
    differ(path === '' ? key : `${path}.${key}`, value, actual[key]),
  );
}

function differLists(path: string, expected: unknown[], actual: unknown): string[] {
  if (!Array.isArray(actual)) return [`${path}: expected ${show(expected)}, got ${show(actual)}`];
  const found: unknown[] = actual;
  if (expected.length === 0) {
    return found.length === 0
      ? []
      : [`${path}: expected none, got ${show(found.map((item) => nameOf(item) ?? item))}`];
  }
  if (expected.every((item) => !isFields(item))) return differSets(path, expected, found);
  return differObjects(path, expected, found);
}

function differSets(path: string, expected: unknown[], found: unknown[]): string[] {
  const have = new Set(found.map((item) => nameOf(item) ?? item));
  const wanted = new Set(expected);
  const missing = [...wanted].filter((item) => !have.has(item));
  const extra = [...have].filter((item) => !wanted.has(item));
  return [
    ...(missing.length > 0 ? [`${path}: missing ${missing.map(show).join(', ')}`] : []),
    ...(extra.length > 0 ? [`${path}: unexpected ${extra.map(show).join(', ')}`] : []),
  ];
}

/** Each expected object takes one of the result's that fits; a named one is compared with its namesake. */
function differObjects(path: string, expected: unknown[], found: unknown[]): string[] {
  const left = [...found];
  return expected.flatMap((item) => {
    const fitting = left.findIndex((candidate) => differ('', item, candidate).length === 0);
    if (fitting >= 0) {
      left.splice(fitting, 1);
      return [];
    }
    const name = nameOf(item);
    const namesake = name === undefined ? undefined : left.find((candidate) => nameOf(candidate) === name);
    if (namesake === undefined) return [`${path}: none of ${String(found.length)} is like ${show(item)}`];
    return differ(`${path}[${String(name)}]`, item, namesake);
  });
}

/** What tells an object of the result from the others of its list. */
function nameOf(item: unknown): unknown {
  if (!isFields(item)) return undefined;
  return item['name'] ?? item['node'] ?? item['execution'] ?? item['id'] ?? item['type'] ?? item['invariant'];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
