/** What a command did or found, a line each, as they happen. */
import { bad, good, notable } from './view/style.ts';

/** `=` was so already, `+` made, `~` changed, `-` removed, `!` somebody has to look, `?` could not be told. */
export type Mark = '=' | '+' | '~' | '-' | '!' | '?';

export type Say = (mark: Mark, what: string) => void;

const colours: Record<Mark, (text: string) => string> = {
  '=': (text) => text,
  '+': good,
  '~': notable,
  '-': notable,
  '!': bad,
  '?': notable,
};

export const stepText = (mark: Mark, what: string): string => `${colours[mark](mark)} ${what}`;
