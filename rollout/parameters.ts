/** The parameters that a rollout reads: their groups, defaults and accepted values, each with its own reader. */
import { distance } from 'fastest-levenshtein';
import type { Read } from './read.ts';
import { quoted, refuse } from './refusals.ts';
import { parseSelector } from './selector.ts';

export type Group = 'security' | 'build' | 'karpenter' | 'rollout';

export interface Parameter<T> {
  groups: readonly Group[];
  /** What holds where it is not set, in words. */
  fallback: string;
  /** What is accepted, in words. */
  accepted: string;
  meaning: string;
  /** Exact: case-sensitive, no trimming. */
  read: (text: string) => Read<T>;
}

/** A text without the differences that people type by accident: white space, case, quotes. */
const bare = (text: string): string => text.replaceAll(/[\s"']/g, '').toLowerCase();

/** One of a few words. The nearest is the one that differs in case or white space, else by up to three edits. */
function oneOf<const W extends string>(...words: W[]): (text: string) => Read<W> {
  return (text) => {
    const exact = words.find((word) => word === text);
    if (exact !== undefined) return { ok: true, value: exact };
    const nearest = words
      .map((word) => ({ word, edits: distance(word, bare(text)) }))
      .sort((a, b) => a.edits - b.edits)[0];
    return nearest !== undefined && nearest.edits < 4 ? { ok: false, nearest: nearest.word } : { ok: false };
  };
}

/** A canonical decimal between two bounds: no sign, no leading zero, no fraction. */
function whole(low: number, high: number): (text: string) => Read<number> {
  return (text) => {
    const number = Number(text);
    if (/^(0|[1-9]\d*)$/.test(text) && number >= low && number <= high) return { ok: true, value: number };
    const meant = Number(bare(text));
    if (bare(text) === '' || !Number.isFinite(meant)) return { ok: false };
    return { ok: false, nearest: String(Math.min(high, Math.max(low, Math.round(meant)))) };
  };
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `90s`, `15m`, `2h` or `1d`; undefined for any other text. */
function durationSeconds(text: string): number | undefined {
  const [, digits, unit] = /^(0|[1-9]\d*)([smhd])$/.exec(text) ?? [];
  const size = unit === undefined ? undefined : SECONDS[unit];
  return digits === undefined || size === undefined ? undefined : Number(digits) * size;
}

/** A duration between two bounds, in seconds. Without a unit only 0 is a duration. */
function duration(low: string, high: string): (text: string) => Read<number> {
  const [least, most] = [durationSeconds(low) ?? 0, durationSeconds(high) ?? 0];
  return (text) => {
    const seconds = text === '0' ? 0 : durationSeconds(text);
    if (seconds !== undefined && seconds >= least && seconds <= most) return { ok: true, value: seconds };
    if (seconds !== undefined) return { ok: false, nearest: seconds < least ? low : high };
    const nearest = meantDuration(bare(text));
    const meant = durationSeconds(nearest);
    return meant !== undefined && meant >= least && meant <= most ? { ok: false, nearest } : { ok: false };
  };
}

/** What people write elsewhere, in our form: `1h30m`, `5min`, `2hours`; a bare number is minutes. */
function meantDuration(text: string): string {
  const [, hours, minutes] = /^(\d+)h(\d+)m$/.exec(text) ?? [];
  if (hours !== undefined && minutes !== undefined) return `${String(Number(hours) * 60 + Number(minutes))}m`;
  const long = /^(\d+)(s|m|h|d)(?:ecs?|econds?|ins?|inutes?|rs?|ours?|ays?)$/.exec(text);
  if (long !== null) return `${long[1] ?? ''}${long[2] ?? ''}`;
  return durationSeconds(text) === undefined ? `${text}m` : text;
}

/** How many nodes are tried first: a number of them, or a share in percent. */
export interface CanarySize {
  number: number;
  unit: 'nodes' | 'percent';
}

/** A whole number of nodes from 1, or a whole percentage. */
function nodesOrShare(text: string): Read<CanarySize> {
  const unit = text.endsWith('%') ? 'percent' : 'nodes';
  const most = unit === 'percent' ? 100 : Number.MAX_SAFE_INTEGER;
  const read = whole(1, most)(unit === 'percent' ? text.slice(0, -1) : text);
  if (read.ok) return { ok: true, value: { number: read.value, unit } };
  const meant = bare(text);
  const share = meant.endsWith('%');
  const nearest = whole(1, share ? 100 : most)(share ? meant.slice(0, -1) : meant);
  const number = nearest.ok ? String(nearest.value) : nearest.nearest;
  return number === undefined ? { ok: false } : { ok: false, nearest: `${number}${share ? '%' : ''}` };
}

const hopLimit = whole(1, 64);
const flag = (text: string): Read<boolean> =>
  text === 'true' ? { ok: true, value: true } : { ok: true, value: false };
const anything = (text: string): Read<string> => ({ ok: true, value: text });

/** The first release with the build parameters. */
const FIRST_RELEASE = [3, 24, 10];

/** Whether the release knows the build parameters; compared by number, a suffix (`-rc1`, `+x`) is ignored. */
function release(text: string): Read<{ supported: boolean }> {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(text);
  if (match === null) return { ok: false };
  for (const [place, least] of FIRST_RELEASE.entries()) {
    const number = Number(match[place + 1]);
    if (number !== least) return { ok: true, value: { supported: number > least } };
  }
  return { ok: true, value: { supported: true } };
}

/** `none` of a parameter that is off by default is said by not setting it. */
export const parameters = {
  imds_http_tokens: {
    groups: ['security'],
    fallback: 'not owned',
    accepted: '`optional` or `required`',
    meaning: 'whether session tokens (IMDSv2) are required, rack-wide; build nodes inherit it',
    read: oneOf('optional', 'required'),
  },
  imds_http_hop_limit: {
    groups: ['security'],
    fallback: 'not owned',
    accepted: 'a whole number from 1 to 64',
    meaning: 'how many hops the token response may travel, rack-wide; build nodes inherit it',
    read: hopLimit,
  },
  karpenter_build_imds_tokens: {
    groups: ['security', 'build'],
    fallback: 'inherits `imds_http_tokens`',
    accepted: '`optional` or `required`',
    meaning: 'the same for the build nodes alone',
    read: oneOf('optional', 'required'),
  },
  karpenter_build_imds_hop_limit: {
    groups: ['security', 'build'],
    fallback: 'inherits `imds_http_hop_limit`',
    accepted: 'a whole number from 0 to 64, where 0 inherits',
    meaning: 'the same for the build nodes alone',
    read: whole(0, 64),
  },
  karpenter_enabled: {
    groups: ['karpenter'],
    fallback: '`false`',
    accepted: '`true`; anything else is not `true`',
    meaning: 'the rack runs Karpenter; without it the four IMDS parameters are stored and inert',
    read: flag,
  },
  build_node_enabled: {
    groups: ['build'],
    fallback: '`false`',
    accepted: '`true`; anything else is not `true`',
    meaning: 'the rack has build nodes; without them the four IMDS parameters are stored and inert',
    read: flag,
  },
  release: {
    groups: ['karpenter'],
    fallback: 'supported',
    accepted: '`<major>.<minor>.<patch>`, with or without a suffix',
    meaning: 'the rack’s version; before 3.24.10 the build parameters are ignored, with a notice',
    read: release,
  },
  provider: {
    groups: ['karpenter'],
    fallback: '`aws`',
    accepted: '`aws`; with any other the build parameters are ignored',
    meaning: 'where the rack runs',
    read: anything,
  },
  imds_rollout_strategy: {
    groups: ['rollout'],
    fallback: '`graceful`',
    accepted: '`graceful`, `karpenter` or `immediate`',
    meaning:
      'graceful: nodes that run Builds are held until these end; karpenter: no holds, Karpenter and its budgets alone; immediate: all live instances are modified first, then as graceful',
    read: oneOf('graceful', 'karpenter', 'immediate'),
  },
  imds_rollout_deadline: {
    groups: ['rollout'],
    fallback: '`60m`',
    accepted: 'a duration from `1m` to `24h`',
    meaning: 'from the patch of the class to the live modification of stragglers',
    read: duration('1m', '24h'),
  },
  imds_rollout_stragglers: {
    groups: ['rollout'],
    fallback: '`modify`',
    accepted: '`modify`, `wait` or `fail`',
    meaning: 'what happens at the deadline to instances that are still wrong',
    read: oneOf('modify', 'wait', 'fail'),
  },
  imds_rollout_drain_timeout: {
    groups: ['rollout'],
    fallback: '`12h`',
    accepted: 'a duration from `0` to `48h`',
    meaning: 'how long a rollout waits for Builds on held nodes once every instance is right',
    read: duration('0s', '48h'),
  },
  imds_rollout_build_selector: {
    groups: ['rollout'],
    fallback: 'every Build',
    accepted: 'a Kubernetes label selector, e.g. `type=process,service in (build)`',
    meaning: 'narrows which pods count as Builds',
    read: parseSelector,
  },
  imds_rollout_class_writer: {
    groups: ['rollout'],
    fallback: '`service`',
    accepted: '`service` or `external`',
    meaning: 'external: Terraform or GitOps renders the class, this service never patches it',
    read: oneOf('service', 'external'),
  },
  imds_rollout_approval: {
    groups: ['rollout'],
    fallback: '`loosening`',
    accepted: '`never`, `loosening` or `always`',
    meaning: 'which changes need a person’s approval',
    read: oneOf('never', 'loosening', 'always'),
  },
  imds_rollout_canary: {
    groups: ['rollout'],
    fallback: 'none',
    accepted: 'a whole number of nodes from 1, or a percentage from `1%` to `100%`, which rounds up',
    meaning: 'how many wrong build nodes are modified live, and watched, before the class is touched',
    read: nodesOrShare,
  },
  imds_rollout_bake: {
    groups: ['rollout'],
    fallback: '`10m`',
    accepted: 'a duration from `1m` to `24h`',
    meaning: 'how long the canary is watched once its options are in force; without a canary it is not read',
    read: duration('1m', '24h'),
  },
} as const satisfies Record<string, Parameter<unknown>>;

export type Key = keyof typeof parameters;

/** Of everything that says how a rollout goes about it. */
export const POLICY_PREFIX = 'imds_rollout_';

export const isKey = (key: string): key is Key => Object.hasOwn(parameters, key);

/** The known key that somebody may have meant; undefined where none is within three edits. */
export function nearestKey(key: string): Key | undefined {
  const [nearest] = (Object.keys(parameters) as Key[])
    .map((known) => ({ known, edits: distance(known, bare(key)) }))
    .sort((a, b) => a.edits - b.edits);
  return nearest !== undefined && nearest.edits < 4 ? nearest.known : undefined;
}

/** The four whose values the build class is rendered from. */
export const IMDS_KEYS = [
  'imds_http_tokens',
  'imds_http_hop_limit',
  'karpenter_build_imds_tokens',
  'karpenter_build_imds_hop_limit',
] as const satisfies Key[];

/** One sentence that refuses a value: the thing, the value, what is accepted, the nearest accepted value. */
export function refuseValue(key: Key, value: string, nearest?: string): string {
  const meant = nearest === undefined ? '' : `; did you mean \`${nearest}\`?`;
  return refuse('value', { key, value: quoted(value), accepted: `${parameters[key].accepted}${meant}` });
}
