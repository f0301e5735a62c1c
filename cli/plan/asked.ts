/** What was asked, by which parameter, when and by whom; and the way back. */
import { decide } from '../../rollout/desired.ts';
import { classOptions, inWords, loosenings, mismatches, owned, type Option } from '../../rollout/options.ts';
import type { Key } from '../../rollout/parameters.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { purposeOf } from '../../rollout/purpose.ts';
import type { Options } from '../../rollout/record.ts';
import type { AskedOption } from './explanation.ts';
import type { Look } from './one-look.ts';
import type { Seen } from './seen.ts';

/** Every owned option, the ones that go back to what the class said before included. */
export async function askedOptions(look: Look, seen: Seen): Promise<AskedOption[]> {
  const before = classOptions(seen.ground.nodeClass);
  return Promise.all(
    owned(seen.purpose.target).map(async (option): Promise<AskedOption> => {
      const after = seen.purpose.target[option] ?? before[option];
      const parameter = await parameterOf(look, seen, option);
      return {
        option,
        before: before[option],
        after,
        meaning: meaningOf(option, { ...before, [option]: after }),
        ...(parameter && { parameter }),
      };
    }),
  );
}

async function parameterOf(
  look: Look,
  { rack, asks }: Seen,
  option: Option,
): Promise<AskedOption['parameter'] | undefined> {
  const key = asks.sources[option];
  const stored = (await look.ports.parameters.list(rack)).find((each) => each.key === key);
  if (key === undefined || stored === undefined) return undefined;
  const history = await historyOf(look, rack, key);
  const { value, version, lastModifiedDate: at } = stored;
  const written = history?.find((each) => each.version === version);
  return {
    key,
    value,
    version,
    at,
    by: written?.lastModifiedUser ?? null,
    ...(history && { previous: history.findLast((each) => each.version < version)?.value ?? null }),
  };
}

const historyOf = (look: Look, rack: string, key: string): Promise<StoredParameter[] | null> =>
  look.attempt('who wrote the parameters, and what they said before', 'ssm:GetParameterHistory', () =>
    look.ports.parameters.history(rack, key),
  );

function meaningOf(option: Option, { httpTokens, httpPutResponseHopLimit }: Required<Options>): string {
  if (option === 'httpTokens') {
    return httpTokens === 'required'
      ? 'every request needs a session token (IMDSv2); without one the answer is 401'
      : 'requests without a token (IMDSv1) are answered too, from pods as well, whatever the hop limit';
  }
  const reach = ['the host and hostNetwork pods', 'pods too', 'containers inside pods too'];
  const furthest = reach[Math.min(httpPutResponseHopLimit, reach.length) - 1] ?? '';
  return `the response that carries a token travels ${String(httpPutResponseHopLimit)} hop${httpPutResponseHopLimit === 1 ? '' : 's'}: it reaches ${furthest}`;
}

/** How the change is undone, in commands, with what the build nodes would get then; null where it is not known. */
export async function wayBack(look: Look, seen: Seen): Promise<string[] | null> {
  const { rack, asks, purpose, record, ground } = seen;
  const now = classOptions(ground.nodeClass);
  const stored = await look.ports.parameters.list(rack);
  // What stays as it is has no way back: whoever wrote it did so for something else.
  const changing = mismatches(purpose.target, now);
  const keys = new Set(changing.flatMap((option) => asks.sources[option] ?? []));
  const written = await Promise.all(
    [...keys].map(async (key) => {
      const version = stored.find((each) => each.key === key)?.version ?? 0;
      const history = await historyOf(look, rack, key);
      return { key, history, value: history?.findLast((each) => each.version < version)?.value };
    }),
  );
  if (written.some(({ history }) => history === null)) return null;
  // What was deleted has no history: what the class says now stands in for it.
  const restoring = purpose.restoring.filter((option) => changing.includes(option));
  const deleted = restoring.map((option) => ({ key: KEYS[option], value: String(now[option]) }));
  const before: { key: Key; value: string | undefined }[] = [...written, ...deleted];
  if (before.length === 0) return [];
  const decision = decide(withValues(stored, before), true);
  const command = `imds-rollout params set ${before.map(({ key, value = '' }) => `${key}=${value}`).join(' ')} -r ${rack}`;
  if (decision.kind !== 'asks') {
    const why = decision.kind === 'refused' ? decision.refusals.join('; ') : 'nothing would be asked then';
    return [command, `What the parameters said before would not be taken: ${why}.`];
  }
  const then = { ...now, ...purposeOf(decision, record, ground.nodeClass.metadata.uid).target };
  const looser = loosenings({ ...now, ...purpose.target }, then);
  return [
    command,
    `The build nodes then get ${inWords(then)}, by a rollout like this one: nodes are replaced again, and Builds are waited for.`,
    ...(looser.length > 0 ? [`The way back loosens ${looser.join(' and ')}.`] : []),
  ];
}

/** The build nodes' own parameter of each option. */
const KEYS = {
  httpTokens: 'karpenter_build_imds_tokens',
  httpPutResponseHopLimit: 'karpenter_build_imds_hop_limit',
} as const satisfies Record<Option, Key>;

/** The parameters with other values; one without a value is deleted. */
function withValues(
  stored: readonly StoredParameter[],
  values: readonly { key: Key; value: string | undefined }[],
): StoredParameter[] {
  const others = stored.filter((each) => !values.some(({ key }) => key === each.key));
  const set = values.flatMap(({ key, value }): StoredParameter[] =>
    value === undefined ? [] : [{ key, value, type: 'String', version: 0, lastModifiedDate: '' }],
  );
  return [...others, ...set];
}
