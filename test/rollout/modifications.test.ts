/** What is known of a live modification that was asked for, by what was written and seen after it. */
import { describe, expect, it } from 'vitest';
import type { Fleet } from '../../rollout/fleet.ts';
import type { Entry } from '../../rollout/journal.ts';
import { settleModifications } from '../../rollout/modifications.ts';
import { buildNode, fleetOf, instant, metadataOptions, WRONG } from './given.ts';

const asked = { httpTokens: 'required', httpPutResponseHopLimit: 1 } as const;
const seen = (is: Parameters<typeof metadataOptions>[0]): Fleet =>
  fleetOf([buildNode('busy', { options: metadataOptions(is) })]);
const ID = seen(asked).nodes[0]?.instance?.instanceId ?? '';

const intent = (seconds: number): Entry => ({
  what: 'modifying',
  at: instant(seconds),
  instanceId: ID,
  node: 'busy',
  before: { ...WRONG },
  after: { ...asked },
  builds: ['app/web'],
  why: 'late',
});
const modified = (seconds: number): Entry => ({ ...intent(seconds), what: 'modified' }) as Entry;
const of = (what: 'unmodified' | 'asAsked', seconds: number, instanceIds = [ID]): Entry => ({
  what,
  at: instant(seconds),
  instanceIds,
});

/** When it was modified, and why, by second. */
const told = (entries: Entry[], fleet?: Fleet): [number, string][] =>
  settleModifications(entries, fleet).flatMap((entry) =>
    entry.what === 'modified' ? [[(Date.parse(entry.at) - Date.parse(instant(0))) / 1000, entry.why]] : [],
  );

describe('a live modification', () => {
  const unknown = 'late; whether EC2 changed it is not known';
  it.each<[string, Entry[], Fleet | undefined, [number, string][]]>([
    ['written is what was written', [intent(0), modified(5)], seen(asked), [[5, 'late']]],
    ['of before intents were written is told', [modified(5)], undefined, [[5, 'late']]],
    ['that EC2 refused is none', [intent(0), of('unmodified', 5)], undefined, []],
    ['not written, found in force later, was one', [intent(0), of('asAsked', 60)], undefined, [[0, 'late']]],
    ['not written, seen at the end, was one', [intent(0)], seen(asked), [[0, 'late']]],
    ['not written, not in force at the end, was none', [intent(0)], seen(WRONG), []],
    ['of an instance that nobody saw again is not known', [intent(0)], fleetOf([]), [[0, unknown]]],
    ['is not known where nothing could be read', [intent(0)], undefined, [[0, unknown]]],
    ['asked for again is told once', [intent(0), intent(60), modified(65)], undefined, [[65, 'late']]],
    ['is not told by what was found before it', [of('asAsked', 0), intent(5)], seen(WRONG), []],
    ['is not told by another instance', [intent(0), of('asAsked', 5, ['i-x'])], undefined, [[0, unknown]]],
    ['refused once and asked again', [intent(0), of('unmodified', 5), intent(9)], seen(asked), [[9, 'late']]],
  ])('%s', (_, entries, fleet, expected) => {
    expect(told(entries, fleet)).toEqual(expected);
  });

  it('leaves nothing of its bookkeeping in what is told', () => {
    const entries = [intent(0), of('unmodified', 5), of('asAsked', 6)];
    expect(settleModifications(entries, undefined)).toEqual([]);
  });
});
