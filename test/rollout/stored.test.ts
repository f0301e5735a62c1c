/** What is stored and cannot be read: named for whoever mends it, and a token is in none of it. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readRecord, readToken } from '../../rollout/stored.ts';

const NAME = '/imds-rollout/racks/demo/approval-token';
const TOKEN = 'AQCAAAAAKgAAAAMA';

/** All that a log line could have of it, causes included. */
function troubleOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    return inspect(error, { depth: Infinity });
  }
  throw new Error('it was read');
}

describe('a token that cannot be read', () => {
  it.each([
    ['is not JSON', TOKEN],
    ['is JSON that ends too early', `{"token":"${TOKEN}`],
    ['is of another shape', JSON.stringify({ execution: 1, token: [TOKEN] })],
  ])('%s: the parameter is named, and nothing of the token', (_what, text) => {
    const trouble = troubleOf(() => readToken(NAME, text));
    expect(trouble).toContain(NAME);
    expect(trouble).not.toContain(TOKEN.slice(0, 6));
  });
});

it('names the parameter of a record that is not JSON, and what to do', () => {
  expect(() => readRecord('/imds-rollout/racks/demo/record', 'no JSON')).toThrow(
    /^parameter \/imds-rollout\/racks\/demo\/record is not JSON: put an earlier version of it back/,
  );
});
