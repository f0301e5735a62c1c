/**
 * Kubernetes label selectors, as `kubectl -l` takes them: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`,
 * `!a`, joined by commas. Source: k8s.io/apimachinery/pkg/labels. No maintained npm package parses them.
 */
import type { Read } from './read.ts';

export type Selector = (labels: Readonly<Record<string, string>>) => boolean;

const SUBDOMAIN = String.raw`[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*`;
const NAME = String.raw`(?:(?=[^/]{1,253}\/)${SUBDOMAIN}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?`;
const VALUE = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?`;
const EQUALITY = new RegExp(String.raw`^(${NAME})\s*(==?|!=)\s*(${VALUE})$`);
const SET = new RegExp(String.raw`^(${NAME})\s+(in|notin)\s*\(\s*(${VALUE}(?:\s*,\s*${VALUE})*)\s*\)$`);
const PRESENCE = new RegExp(String.raw`^(!?)\s*(${NAME})$`);

/** Reads a selector; refuses the text as a whole where any requirement of it is not one. */
export function parseSelector(text: string): Read<Selector> {
  const requirements = text.split(/,(?![^(]*\))/).map((part) => parseRequirement(part.trim()));
  const known = requirements.filter((requirement) => requirement !== undefined);
  return known.length === requirements.length
    ? { ok: true, value: (labels) => known.every((matches) => matches(labels)) }
    : { ok: false };
}

function parseRequirement(text: string): Selector | undefined {
  const [, equalKey, operator, value] = EQUALITY.exec(text) ?? [];
  if (equalKey !== undefined) {
    return operator === '!='
      ? (labels) => labels[equalKey] !== value
      : (labels) => labels[equalKey] === value;
  }
  const [, setKey, membership, list] = SET.exec(text) ?? [];
  if (setKey !== undefined && list !== undefined) {
    const values = list.split(',').map((each) => each.trim());
    const member: Selector = (labels) => values.includes(labels[setKey] ?? '\0');
    return membership === 'in' ? member : (labels) => !member(labels);
  }
  const [, not, key] = PRESENCE.exec(text) ?? [];
  if (key === undefined) return undefined;
  return not === '!' ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key);
}
