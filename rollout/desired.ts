/** From the stored parameters to what a rack asks for. Pure: the same parameters give the same decision. */
import { keepsRackWide } from './build-groups.ts';
import type { StoredParameter } from './ports.ts';
import {
  IMDS_KEYS,
  isKey,
  nearestKey,
  parameters,
  type CanarySize,
  POLICY_PREFIX,
  refuseValue,
  type Key,
} from './parameters.ts';
import { OPTIONS, type Option } from './options.ts';
import type { Options } from './record.ts';
import { quoted, refuse } from './refusals.ts';

/** How a rollout is to go about it. Durations in seconds. */
export interface Policy {
  strategy: 'graceful' | 'karpenter' | 'immediate';
  deadline: number;
  stragglers: 'modify' | 'wait' | 'fail';
  drainTimeout: number;
  classWriter: 'service' | 'external';
  approval: 'never' | 'loosening' | 'always';
  /** Which nodes are tried before the class is touched, and how many seconds they bake; absent where none are. */
  canary?: { size: CanarySize; bake: number };
  /** A label selector that was read without complaint; absent where every Build counts. */
  buildSelector?: string;
}

/** Where the value of an option comes from. */
type Sources = Partial<Record<keyof Options, Key>>;

export type Decision =
  | {
      kind: 'refused';
      refusals: string[];
      /** What is asked for by the values that are accepted by themselves. */
      ask: Options;
      /** Options of which nobody knows what is asked. */
      unread: Option[];
      /** Who is to write the class, where that is accepted by itself. */
      classWriter?: Policy['classWriter'];
    }
  | { kind: 'inert'; why: string; everAsked: boolean }
  | { kind: 'asksNothing'; everAsked: boolean }
  | {
      kind: 'asks';
      ask: Options;
      sources: Sources;
      policy: Policy;
      notices: string[];
    };

type Stored = Readonly<Partial<Record<Key, StoredParameter>>>;

const isOn = (stored: Stored, key: 'karpenter_enabled' | 'build_node_enabled'): boolean =>
  stored[key]?.type === 'String' && stored[key].value === 'true';

/**
 * What the rack asks for. Only a value that would be used can refuse, and one bad used value refuses everything;
 * while Karpenter or the build nodes are off nothing is used, and where nothing is asked and nothing `owns` (no
 * baseline is still to be restored), no policy is.
 */
export function decide(list: readonly StoredParameter[], owns: boolean): Decision {
  const stored: Stored = Object.fromEntries(
    list.filter(({ key }) => isKey(key)).map((each) => [each.key, each]),
  );
  const everAsked = IMDS_KEYS.some((key) => stored[key] !== undefined);
  const off = (['karpenter_enabled', 'build_node_enabled'] as const).filter((key) => !isOn(stored, key));
  if (off.length > 0) {
    return {
      kind: 'inert',
      why: `${off.join(' and ')} ${off.length > 1 ? 'are' : 'is'} not exactly "true"`,
      everAsked,
    };
  }

  const refusals: string[] = [];
  const used = reader(stored, refusals);
  const notices = buildParametersIgnored(stored, used);
  const unread: Option[] = refusals.length > 0 ? [...OPTIONS] : [];
  const mayOwn = notices.length === 0;
  const inherit = <B extends Key, W extends Key>(build: B, wide: W) => {
    if (mayOwn && stored[build] !== undefined) {
      const value = used(build);
      // Refused: what it would have inherited is not used, so it cannot refuse as well.
      if (value === undefined) return undefined;
      if (value !== 0) return { value, source: build };
    }
    const value = used(wide);
    return value === undefined ? undefined : { value, source: wide };
  };
  const reading = <T>(option: Option, read: () => T): T => {
    const before = refusals.length;
    const value = read();
    if (refusals.length > before) unread.push(option);
    return value;
  };
  const tokens = reading('httpTokens', () => inherit('karpenter_build_imds_tokens', 'imds_http_tokens'));
  const limit = reading('httpPutResponseHopLimit', () =>
    inherit('karpenter_build_imds_hop_limit', 'imds_http_hop_limit'),
  );
  const ask: Options = {
    ...(tokens && { httpTokens: tokens.value }),
    ...(limit && { httpPutResponseHopLimit: limit.value }),
  };
  const sources: Sources = {
    ...(tokens && { httpTokens: tokens.source }),
    ...(limit && { httpPutResponseHopLimit: limit.source }),
  };
  if (refusals.length === 0 && Object.keys(ask).length === 0 && !owns)
    return { kind: 'asksNothing', everAsked };
  refusals.push(...unknownPolicies(list));
  const beside = keepsRackWide(list, sources);
  if (beside !== undefined) notices.push(beside);
  const policy = readPolicy(stored, used);
  if (policy.canary !== undefined && policy.classWriter === 'external')
    refusals.push(refuse('canaryExternal', { canary: canaryInWords(policy.canary.size) }));
  if (refusals.length > 0) {
    const classWriter = reader(stored, [])('imds_rollout_class_writer');
    return { kind: 'refused', refusals, ask, unread, ...(classWriter !== undefined && { classWriter }) };
  }
  // What the class goes back to is for its own writer to say.
  return Object.keys(ask).length === 0 && policy.classWriter === 'external'
    ? { kind: 'asksNothing', everAsked }
    : { kind: 'asks', ask, sources, policy, notices };
}

/** A policy that this release does not know is not passed over: somebody relies on it. */
const unknownPolicies = (list: readonly StoredParameter[]): string[] =>
  list
    .filter(({ key }) => key.startsWith(POLICY_PREFIX) && !isKey(key))
    .map(({ key, value }) => {
      const nearest = nearestKey(key);
      const meant = nearest === undefined ? '.' : `, did you mean ${nearest}?`;
      return refuse('unknownPolicy', { key, value: quoted(value), meant });
    });

type Value<K extends Key> = Extract<ReturnType<(typeof parameters)[K]['read']>, { ok: true }>['value'];
type Used = <K extends Key>(key: K) => Value<K> | undefined;

/** Reads values on use, so that a bad value which nothing uses refuses nothing. */
function reader(stored: Stored, refusals: string[]): Used {
  return <K extends Key>(key: K): Value<K> | undefined => {
    const parameter = stored[key];
    if (parameter === undefined) return undefined;
    if (parameter.type !== 'String') {
      refusals.push(refuse('type', { key, type: parameter.type, accepted: parameters[key].accepted }));
      return undefined;
    }
    const read = parameters[key].read(parameter.value);
    if (read.ok) return read.value;
    refusals.push(refuseValue(key, parameter.value, read.nearest));
    return undefined;
  };
}

/** Why the build parameters do not count on this rack, if they do not. */
function buildParametersIgnored(stored: Stored, used: Used): string[] {
  const set = (['karpenter_build_imds_tokens', 'karpenter_build_imds_hop_limit'] as const).filter(
    (key) => stored[key],
  );
  if (set.length === 0) return [];
  const provider = used('provider') ?? 'aws';
  if (provider !== 'aws')
    return [`${set.join(' and ')} ignored: provider is ${JSON.stringify(provider)}, not "aws"`];
  const release = used('release') ?? { supported: true };
  return release.supported
    ? []
    : [`${set.join(' and ')} ignored: release ${stored.release?.value ?? ''} is below 3.24.10`];
}

/** As it is written: `2`, `10%`. */
export const canaryInWords = ({ number, unit }: CanarySize): string =>
  `${String(number)}${unit === 'percent' ? '%' : ''}`;

function readPolicy(stored: Stored, used: Used): Policy {
  const size = used('imds_rollout_canary');
  const canary = size && { size, bake: used('imds_rollout_bake') ?? 600 };
  const buildSelector = used('imds_rollout_build_selector') && stored.imds_rollout_build_selector?.value;
  return {
    strategy: used('imds_rollout_strategy') ?? 'graceful',
    deadline: used('imds_rollout_deadline') ?? 3600,
    stragglers: used('imds_rollout_stragglers') ?? 'modify',
    drainTimeout: used('imds_rollout_drain_timeout') ?? 12 * 3600,
    classWriter: used('imds_rollout_class_writer') ?? 'service',
    approval: used('imds_rollout_approval') ?? 'loosening',
    ...(canary !== undefined && { canary }),
    ...(buildSelector !== undefined && { buildSelector }),
  };
}
