/**
 * What a rack's parameters ask for, written a second time and on purpose without the product's code, so that a
 * mistake there is seen here. Label selectors alone are not checked: a bad one only makes this more lenient.
 */
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Options } from '../../rollout/record.ts';

export type Reading =
  /** Karpenter or the build nodes are off: stored and inert. */
  | { kind: 'inert' }
  | { kind: 'refused'; keys: string[] }
  | { kind: 'asks'; ask: Options; approval: 'never' | 'loosening' | 'always'; external: boolean };

/** Keys whose being set, ever, makes a rack one that asked. */
export const imdsKeys: readonly string[] = [
  'imds_http_tokens',
  'imds_http_hop_limit',
  'karpenter_build_imds_tokens',
  'karpenter_build_imds_hop_limit',
];

const second = 1_000;
const hour = 3_600 * second;

export function readAsk(parameters: readonly StoredParameter[]): Reading {
  const value = (key: string): string | undefined => parameters.find((stored) => stored.key === key)?.value;
  const isOn = (key: string): boolean =>
    parameters.some((stored) => stored.key === key && stored.type === 'String' && stored.value === 'true');
  if (!isOn('karpenter_enabled') || !isOn('build_node_enabled')) return { kind: 'inert' };

  const bad: string[] = [];
  const use = (key: string, accepted: RegExp): string | undefined => {
    const stored = parameters.find((candidate) => candidate.key === key);
    if (stored === undefined) return undefined;
    if (stored.type !== 'String' || !accepted.test(stored.value)) bad.push(key);
    return stored.value;
  };
  const buildSet =
    value('karpenter_build_imds_tokens') !== undefined ||
    value('karpenter_build_imds_hop_limit') !== undefined;
  const buildCounts =
    buildSet &&
    (use('provider', /^/) ?? 'aws') === 'aws' &&
    isSupported(use('release', /^\d+\.\d+\.\d+([-+].*)?$/));
  const tokens =
    (buildCounts ? use('karpenter_build_imds_tokens', tokenValue) : undefined) ??
    use('imds_http_tokens', tokenValue);
  const buildHop = buildCounts
    ? use('karpenter_build_imds_hop_limit', /^(0|[1-9]|[1-5]\d|6[0-4])$/)
    : undefined;
  const hop =
    buildHop === undefined || buildHop === '0'
      ? use('imds_http_hop_limit', /^([1-9]|[1-5]\d|6[0-4])$/)
      : buildHop;
  if (bad.length > 0) return { kind: 'refused', keys: bad };
  // Where nothing is asked for, no policy is used, so that none can refuse.
  if (tokens !== undefined || hop !== undefined) checkPolicy(use, bad, value);
  if (bad.length > 0) return { kind: 'refused', keys: bad };
  return {
    kind: 'asks',
    ask: {
      ...(tokens === 'optional' || tokens === 'required' ? { httpTokens: tokens } : {}),
      ...(hop === undefined ? {} : { httpPutResponseHopLimit: Number(hop) }),
    },
    approval: approvalOf(value('imds_rollout_approval')),
    external: value('imds_rollout_class_writer') === 'external',
  };
}

const tokenValue = /^(optional|required)$/;
const durationValue = /^(0|[1-9]\d*)(s|m|h|d)$/;

function checkPolicy(
  use: (key: string, accepted: RegExp) => string | undefined,
  bad: string[],
  value: (key: string) => string | undefined,
): void {
  use('imds_rollout_strategy', /^(graceful|karpenter|immediate)$/);
  use('imds_rollout_stragglers', /^(modify|wait|fail)$/);
  use('imds_rollout_class_writer', /^(service|external)$/);
  use('imds_rollout_approval', /^(never|loosening|always)$/);
  use('imds_rollout_deadline', durationValue);
  use('imds_rollout_drain_timeout', /^(0|(0|[1-9]\d*)(s|m|h|d))$/);
  const deadline = millisecondsOf(value('imds_rollout_deadline') ?? '60m');
  if (deadline < 60 * second || deadline > 24 * hour) bad.push('imds_rollout_deadline');
  if (millisecondsOf(value('imds_rollout_drain_timeout') ?? '12h') > 48 * hour)
    bad.push('imds_rollout_drain_timeout');
}

/** 3.24.10 or later, by number; absent is supported. */
function isSupported(release: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = (release ?? '3.24.10').split(/[^\d]+/).map(Number);
  return major > 3 || (major === 3 && (minor > 24 || (minor === 24 && patch >= 10)));
}

function approvalOf(value: string | undefined): 'never' | 'loosening' | 'always' {
  return value === 'never' || value === 'always' ? value : 'loosening';
}

/** Milliseconds of a policy's duration; 0 for what is none. */
export function millisecondsOf(text: string): number {
  const sizes: Record<string, number> = { s: second, m: 60 * second, h: hour, d: 24 * hour };
  return durationValue.test(text) ? Number(text.slice(0, -1)) * (sizes[text.slice(-1)] ?? 0) : 0;
}

/** Whether a value of an option is looser than another: tokens not required, a response that travels further. */
export function isLooser<K extends keyof Options>(option: K, value: Options[K], than: Options[K]): boolean {
  if (value === undefined || than === undefined) return false;
  if (option === 'httpTokens') return value === 'optional' && than === 'required';
  return Number(value) > Number(than);
}

export const optionNames = ['httpTokens', 'httpPutResponseHopLimit'] as const;
