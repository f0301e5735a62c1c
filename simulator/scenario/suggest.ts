/** "Did you mean": the nearest of what is accepted. */
import { closest, distance } from 'fastest-levenshtein';

/** The accepted word that was probably meant, or undefined where none is near. */
export function suggest(word: string, accepted: readonly string[]): string | undefined {
  if (accepted.length === 0) return undefined;
  const nearest = closest(
    word.toLowerCase(),
    accepted.map((name) => name.toLowerCase()),
  );
  const found = accepted.find((name) => name.toLowerCase() === nearest);
  if (found === undefined) return undefined;
  // Three slips in a long name are a typing error; in a short one they are another word.
  const limit = Math.min(4, Math.max(1, Math.ceil(found.length / 3)));
  return distance(word.toLowerCase(), nearest) <= limit ? found : undefined;
}
