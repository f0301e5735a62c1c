/** Durations as scenarios and parameters write them (`90s`, `15m`, `2h`, `1d`), and as people read them. */

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** What a duration looks like; `-` only where a past moment makes sense. */
export const durationPattern = /^(\d+)(s|m|h|d)$/;
export const signedDurationPattern = /^-?(\d+)(s|m|h|d)$/;

/** Milliseconds of `90s`, `15m`, `2h`, `1d` or `-20m`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!signedDurationPattern.test(text)) return undefined;
  const unit = units.find(([letter]) => text.endsWith(letter));
  return unit && Number(text.slice(0, -1)) * unit[1];
}

/** What a moment looks like, as this file prints it: `1h1m36s`, also with the `+` before it. */
export const momentPattern = /^\+?(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/** Milliseconds of a moment; undefined for anything else. */
export function parseMoment(text: string): number | undefined {
  const found = momentPattern.exec(text);
  return found?.slice(1).reduce((sum, count: string | undefined, index) => {
    const [, size = 0] = units[index] ?? [];
    return sum + Number(count ?? 0) * size;
  }, 0);
}

/** `3h`, `1h30m`, `45s`: whole seconds, largest units first. */
export function formatDuration(milliseconds: number): string {
  let left = Math.round(Math.abs(milliseconds) / 1_000) * 1_000;
  let text = '';
  for (const [letter, size] of units) {
    const count = Math.floor(left / size);
    if (count > 0) text += `${String(count)}${letter}`;
    left -= count * size;
  }
  if (text === '') return '0s';
  return milliseconds < 0 ? `-${text}` : text;
}
