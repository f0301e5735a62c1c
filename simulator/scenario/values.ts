/** The single values of a scenario file. Each message says what is accepted, in words to stand behind `accepted:`. */
import { z } from 'zod';
import {
  durationPattern,
  momentPattern,
  parseDuration,
  parseMoment,
  signedDurationPattern,
} from './duration.ts';

/** One of the words; the message lists them. */
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: words.join(', ') });

export const durationText = 'a duration such as 90s, 15m, 2h or 1d';
/** Of a text that a pattern of duration.ts has let through. */
export const milliseconds = (text: string): number => parseDuration(text) ?? 0;
export const duration = z.string(durationText).regex(durationPattern, durationText).transform(milliseconds);
const momentText = 'the time since the start, such as 90s, 12m or 1h1m36s';
/** As `--at` takes it too. */
export const moment = z
  .string(momentText)
  .regex(momentPattern, momentText)
  .transform((text) => parseMoment(text) ?? 0);
const signedText = 'a duration such as 90s, 15m, 2h or 1d, negative for a moment before the start (-20m)';
export const signedDuration = z
  .string(signedText)
  .regex(signedDurationPattern, signedText)
  .transform(milliseconds);
const signedClockText = 'a duration such as 40s, negative for a clock that is behind (-40s)';
export const signedClock = z
  .string(signedClockText)
  .regex(signedDurationPattern, signedClockText)
  .transform(milliseconds);
export const durationOrNever = z
  .string(`${durationText}, or Never`)
  .regex(/^(\d+(s|m|h|d)|Never)$/, `${durationText}, or Never`)
  .transform((text) => (text === 'Never' ? null : milliseconds(text)));

const nameText = 'a name of lower-case letters, digits, dots and dashes';
export const objectName = z.string(nameText).regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, nameText);
export const bool = z.boolean('true or false');
/** A number above 0; `what` is the message. */
export const positive = (what: string) => z.number(what).positive(what);
/** A whole number from `least` on; `what` is the message. */
export const whole = (what: string, least: number) => z.int(what).min(least, what);

export const httpTokens = oneOf(['optional', 'required']);
export const endpoint = oneOf(['enabled', 'disabled']);
/** As EC2 accepts it. */
export const hopLimit = z
  .int('a whole number from 1 to 64')
  .min(1, 'a whole number from 1 to 64')
  .max(64, 'a whole number from 1 to 64');
export const optionFields = [
  'httpTokens',
  'httpPutResponseHopLimit',
  'httpEndpoint',
  'httpProtocolIPv6',
] as const;

const valueText = 'a string (parameter values are text, so quote it)';
const filled = z.string(valueText).min(1, 'a string that is not empty (to delete a parameter, use unset)');
const parameterValue = z.union(
  [
    filled,
    z.strictObject({
      value: filled,
      type: oneOf(['String', 'StringList', 'SecureString']).prefault('String'),
    }),
  ],
  { error: valueText },
);
const keyText = 'a parameter name of letters, digits, dots, dashes and underscores';
export const parameterKey = z.string(keyText).regex(/^[A-Za-z0-9_.-]+$/, keyText);
export const parameters = z.record(parameterKey, parameterValue, 'a mapping of parameters');

export const labels = z.record(
  z.string(),
  z.string('a string (labels are text, so quote it)'),
  'a mapping of labels',
);
export const share = z
  .number('a number from 0 to 1')
  .min(0, 'a number from 0 to 1')
  .max(1, 'a number from 0 to 1');
