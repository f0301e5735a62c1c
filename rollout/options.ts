/** The two options as values: what a class and an instance say, how they differ, which way a change goes. */
import type { Instance } from './ec2.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import type { Options } from './record.ts';

/** Both options, as a class or an instance always has them. */
export type AllOptions = Required<Options>;

export type Option = keyof Options;

export const OPTIONS = ['httpTokens', 'httpPutResponseHopLimit'] as const satisfies Option[];

/** What the CRD fills in for each absent field, on its own (EC2NodeClass v1 of Karpenter 1.14). */
const CLASS_DEFAULTS: AllOptions = { httpTokens: 'required', httpPutResponseHopLimit: 1 };

export function classOptions(nodeClass: EC2NodeClass): AllOptions {
  const { httpTokens, httpPutResponseHopLimit } = nodeClass.spec.metadataOptions ?? {};
  return {
    httpTokens: httpTokens ?? CLASS_DEFAULTS.httpTokens,
    httpPutResponseHopLimit: httpPutResponseHopLimit ?? CLASS_DEFAULTS.httpPutResponseHopLimit,
  };
}

export const owned = (target: Options): Option[] => OPTIONS.filter((option) => target[option] !== undefined);

/** Some of the options, as far as there is a value. */
export const pick = (from: Options, options: readonly Option[]): Options =>
  Object.fromEntries(
    options.filter((option) => from[option] !== undefined).map((option) => [option, from[option]]),
  );

/** The owned options in which `actual` is not as desired: any of them is enough to be wrong. */
export const mismatches = (target: Options, actual: Options): Option[] =>
  owned(target).filter((option) => target[option] !== actual[option]);

/** `httpTokens=required, httpPutResponseHopLimit=1`, for people. */
export const inWords = (options: Options): string =>
  owned(options)
    .map((option) => `${option}=${String(options[option])}`)
    .join(', ') || 'nothing';

/** The options that a change makes looser: tokens no longer required, or a response that travels further. */
export function loosenedOptions(from: AllOptions, to: Options): Option[] {
  const tokens = from.httpTokens === 'required' && to.httpTokens === 'optional';
  const further = (to.httpPutResponseHopLimit ?? 0) > from.httpPutResponseHopLimit;
  return OPTIONS.filter((option) => (option === 'httpTokens' ? tokens : further));
}

/** The same in words: `httpTokens required → optional`. */
export const loosenings = (from: AllOptions, to: Options): string[] =>
  loosenedOptions(from, to).map((option) => `${option} ${String(from[option])} → ${String(to[option])}`);

export type Verdict = 'right' | 'wrong' | 'unknown' | 'off';

/**
 * How an instance stands. Any owned option that is not as desired makes it wrong, so does a change that is not
 * applied yet; what could not be read is unknown, never right; a disabled endpoint is never switched on.
 */
export function judge(target: Options, instance: Instance | undefined): Verdict {
  const options = instance?.metadataOptions;
  if (options === undefined) return 'unknown';
  if (options.httpEndpoint === 'disabled') return 'off';
  return options.state === 'applied' && mismatches(target, options).length === 0 ? 'right' : 'wrong';
}
