/** Colour, where a terminal shows it: styleText looks at the stream, NO_COLOR and FORCE_COLOR. */
import { styleText } from 'node:util';
import type { Outcome } from '../../rollout/record.ts';

type Format = Parameters<typeof styleText>[0];

function style(format: Format, text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

export const bold = (text: string): string => style('bold', text);
export const dim = (text: string): string => style('dim', text);
export const good = (text: string): string => style('green', text);
export const bad = (text: string): string => style('red', text);
export const notable = (text: string): string => style('yellow', text);

/** For standard error, which may go elsewhere than standard output. */
export function alarm(text: string): string {
  return styleText('red', text, { stream: process.stderr });
}

/** An outcome in the colour of what it means. */
export function outcomeInColour(outcome: Outcome | null): string {
  if (outcome === null) return dim('none');
  if (outcome === 'Succeeded') return good(outcome);
  return outcome === 'NothingToDo' || outcome === 'Superseded' || outcome === 'Withdrawn'
    ? outcome
    : bad(outcome);
}
