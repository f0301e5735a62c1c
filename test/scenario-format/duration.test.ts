import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration, parseMoment } from '../../simulator/scenario/duration.ts';

describe('durations', () => {
  it.each([
    ['90s', 90_000, '1m30s'],
    ['15m', 900_000, '15m'],
    ['2h', 7_200_000, '2h'],
    ['1d', 86_400_000, '1d'],
    ['-20m', -1_200_000, '-20m'],
    ['0s', 0, '0s'],
  ])('%s', (text, milliseconds, formatted) => {
    expect(parseDuration(text)).toBe(milliseconds);
    expect(formatDuration(milliseconds)).toBe(formatted);
  });

  it.each(['', '5', 'm', '1.5h', '1h30m', '+5m', '5M'])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it.each([
    ['+1h1m36s', 3_696_000],
    ['1d2s', 86_402_000],
    ['90s', 90_000],
    ['0s', 0],
  ])('%s is a moment, as they are printed', (text, milliseconds) => {
    expect(parseMoment(text)).toBe(milliseconds);
  });

  it.each(['', '+', '5', '-5m', '1m1h', '1h 1m', 'banana'])('%j is no moment', (text) => {
    expect(parseMoment(text)).toBeUndefined();
  });
});
