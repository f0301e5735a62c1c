/** `KEY=VALUE` as people type it, validated as the service validates, before anything is written. */
import { isKey, nearestKey, parameters, refuseValue, type Key } from '../rollout/parameters.ts';
import { CommandFailure } from './failure.ts';

export interface Assignment {
  key: Key;
  /** undefined deletes: Parameter Store knows no empty values. */
  value: string | undefined;
}

/** Refuses everything that is wrong with any of them, in one message a line. */
export function readAssignments(texts: readonly string[]): Assignment[] {
  const read = texts.map(readAssignment);
  const refusals = read.flatMap((one) => ('refusal' in one ? [one.refusal] : []));
  const assignments = read.flatMap((one) => ('refusal' in one ? [] : [one]));
  const twice = assignments.filter(
    ({ key }, index) => assignments.findIndex((other) => other.key === key) < index,
  );
  refusals.push(...twice.map(({ key }) => `${key} is given twice`));
  if (refusals.length > 0) throw new CommandFailure(refusals.join('\n'));
  return assignments;
}

/** The key, if there is such a parameter. */
export function requireKey(text: string): Key {
  if (isKey(text)) return text;
  throw new CommandFailure(unknownKey(text));
}

function readAssignment(text: string): Assignment | { refusal: string } {
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (key === '') return { refusal: `${text} is not accepted; accepted: KEY=VALUE, or KEY= to delete` };
  if (!isKey(key)) return { refusal: unknownKey(key) };
  if (value === '') return { key, value: undefined };
  const result = parameters[key].read(value);
  if (result.ok) return { key, value };
  return { refusal: refuseValue(key, value, result.nearest) };
}

function unknownKey(text: string): string {
  if (text.trim() === '')
    return `the parameter's name is empty; known are ${Object.keys(parameters).join(', ')}`;
  const near = nearestKey(text);
  const hint =
    near === undefined ? `known are ${Object.keys(parameters).join(', ')}` : `did you mean ${near}?`;
  return `unknown parameter ${text}; ${hint}`;
}
