/** Small things in words, the same in every view. */
import type { Options } from '../../rollout/record.ts';
import { formatDuration } from '../../simulator/scenario/duration.ts';

/** `required/1`: both options of an instance or class; `–` where there is none. */
export function optionsText(options: Partial<Options> | null | undefined): string {
  if (options === null || options === undefined) return '–';
  return `${options.httpTokens ?? '?'}/${String(options.httpPutResponseHopLimit ?? '?')}`;
}

/** `+1h2m`: a moment of a run, counted from its start. */
export function sinceStart(at: Date | string, startsAt: Date | string): string {
  return `+${formatDuration(new Date(at).getTime() - new Date(startsAt).getTime())}`;
}

/** What holds a node: `cordoned and protected`, `cordoned`, `protected` or nothing. */
export function holdText({
  cordoned,
  protected: isProtected,
}: {
  cordoned: boolean;
  protected: boolean;
}): string {
  return [...(cordoned ? ['cordoned'] : []), ...(isProtected ? ['protected'] : [])].join(' and ');
}

/** `1 node`, `2 nodes`. */
export function count(number: number, thing: string): string {
  return `${String(number)} ${thing}${number === 1 ? '' : 's'}`;
}
