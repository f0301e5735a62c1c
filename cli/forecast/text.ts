/** A scenario that was read from a live cluster as the text of a file: when and from what, and what it leaves out. */
import { Document } from 'yaml';
import type { FromLive } from './from-live.ts';
import type { Live } from './live.ts';

/** `known`: what was taken for what cannot be known, a line each. */
export function scenarioText(
  live: Live,
  { scenario, couldNotExpress }: FromLive,
  known: readonly string[],
): string {
  const document = new Document(scenario);
  const { rack, registration, at } = live;
  document.commentBefore = [
    ` Rack ${rack} of cluster ${registration.cluster}, read at ${at.toISOString()}.`,
    ' What cannot be known was taken to be so (runsFor of a Build is its P50):',
    ...known.map((line) => ` - ${line}`),
    ...(couldNotExpress.length === 0
      ? [' Nothing else is left out.']
      : [' A scenario cannot say, and this one leaves out:', ...couldNotExpress.map((line) => ` - ${line}`)]),
  ].join('\n');
  return document.toString({ lineWidth: 120 });
}
