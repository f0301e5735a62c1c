/** Every parameter of a rack with what is stored, what counts, and where that comes from. */
import { decide, type Decision } from '../rollout/desired.ts';
import type { IMDS_KEYS } from '../rollout/parameters.ts';
import { isKey, parameters, POLICY_PREFIX, type Group, type Key } from '../rollout/parameters.ts';
import type { StoredParameter } from '../rollout/ports.ts';

/**
 * `stored`: its own value; a key: inherited from that one; `default`: this service's; `nobody`: not owned;
 * `inert`: stored, and nothing counts yet; `refused`: one bad used value refuses all; `unread`: not of this service.
 */
type From = 'stored' | 'default' | 'nobody' | 'inert' | 'refused' | 'unread' | Key;

export interface Effective {
  key: string;
  groups: readonly Group[];
  stored: Omit<StoredParameter, 'key'> | null;
  /** null where nothing counts. */
  effective: string | null;
  from: From;
}

/** The option that each of the four is about. */
const OPTION_OF = {
  imds_http_tokens: 'httpTokens',
  imds_http_hop_limit: 'httpPutResponseHopLimit',
  karpenter_build_imds_tokens: 'httpTokens',
  karpenter_build_imds_hop_limit: 'httpPutResponseHopLimit',
} as const satisfies Record<(typeof IMDS_KEYS)[number], string>;

const isImds = (key: Key): key is keyof typeof OPTION_OF => Object.hasOwn(OPTION_OF, key);

/** All known parameters, and whatever else is stored, in the order of their tables; of one group where it is given. */
export function effectiveParameters(stored: readonly StoredParameter[], group?: Group): Effective[] {
  const decision = decide(stored, true);
  const others = stored.map(({ key }) => key).filter((key) => !isKey(key));
  return [...Object.keys(parameters), ...others]
    .map((key): Effective => {
      const { key: _, ...found } = stored.find((each) => each.key === key) ?? { key };
      const own = 'value' in found ? found : null;
      return isKey(key)
        ? { key, groups: parameters[key].groups, stored: own, ...counting(key, own?.value, decision) }
        : { key, groups: [], stored: own, effective: null, from: unknownFrom(key, decision) };
    })
    .filter(({ groups }) => group === undefined || groups.includes(group));
}

type Counting = Pick<Effective, 'effective' | 'from'>;

const unknownFrom = (key: string, { kind }: Decision): From =>
  key.startsWith(POLICY_PREFIX) && kind === 'refused' ? 'refused' : 'unread';

function counting(key: Key, own: string | undefined, decision: Decision): Counting {
  if (decision.kind === 'refused' && own !== undefined) return { effective: null, from: 'refused' };
  if (isImds(key)) return optionCounting(key, own, decision);
  return own === undefined
    ? { effective: parameters[key].fallback.replaceAll('`', ''), from: 'default' }
    : { effective: own, from: 'stored' };
}

function optionCounting(key: keyof typeof OPTION_OF, own: string | undefined, decision: Decision): Counting {
  if (decision.kind === 'inert') return { effective: null, from: own === undefined ? 'nobody' : 'inert' };
  if (decision.kind !== 'asks') return { effective: null, from: 'nobody' };
  const source = decision.sources[OPTION_OF[key]];
  // The rack-wide value is its own, whatever the build nodes have.
  const isWide = key === 'imds_http_tokens' || key === 'imds_http_hop_limit';
  if (own !== undefined && (isWide || source === key)) return { effective: own, from: 'stored' };
  const value = isWide ? undefined : decision.ask[OPTION_OF[key]];
  return value === undefined || source === undefined
    ? { effective: null, from: 'nobody' }
    : { effective: String(value), from: source };
}
