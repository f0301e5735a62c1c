/** What is written down of live modifications, before and after EC2 is asked, and what came of them. Pure. */
import type { MetadataOptions } from './ec2.ts';
import type { BuildNode, Fleet } from './fleet.ts';
import { entriesOf, type Entry } from './journal.ts';
import { mismatches, owned, pick } from './options.ts';
import type { Options } from './record.ts';

type Of<W extends Entry['what']> = Extract<Entry, { what: W }>;

/** A modification that is about to be asked for, and the options that the instance had when it was looked at. */
export interface Due {
  intent: Of<'modifying'>;
  observed: MetadataOptions;
}

export const dueOf = (
  { name, instance, builds }: Pick<BuildNode, 'name' | 'instance' | 'builds'>,
  target: Options,
  at: string,
  why: string,
): Due[] =>
  instance?.metadataOptions === undefined
    ? []
    : [
        {
          observed: instance.metadataOptions,
          intent: {
            what: 'modifying',
            at,
            instanceId: instance.instanceId,
            node: name,
            before: { ...instance.metadataOptions },
            after: pick(target, owned(target)),
            builds,
            why,
          },
        },
      ];

/** Instances that have the values already: one that a function was asking EC2 to change when it died is told by it. */
export function foundAsAsked({ nodes }: Pick<Fleet, 'nodes'>, target: Options, at: string): Of<'asAsked'>[] {
  const instanceIds = nodes.flatMap(({ instance }) =>
    instance?.metadataOptions !== undefined && mismatches(target, instance.metadataOptions).length === 0
      ? [instance.instanceId]
      : [],
  );
  return instanceIds.length > 0 ? [{ what: 'asAsked', at, instanceIds }] : [];
}

/** Those of the intents that came to nothing: refused, throttled, gone, or not got to. */
export function unmodified(
  intents: readonly Of<'modifying'>[],
  done: readonly Entry[],
  now: Date,
): Of<'unmodified'>[] {
  const modified = new Set(entriesOf(done, 'modified').map(({ instanceId }) => instanceId));
  const instanceIds = intents.map(({ instanceId }) => instanceId).filter((id) => !modified.has(id));
  return instanceIds.length > 0 ? [{ what: 'unmodified', at: now.toISOString(), instanceIds }] : [];
}

/** What the report tells: of modifications only those that took place, as far as can be known. */
export type Told = Exclude<Entry, { what: 'modifying' | 'unmodified' | 'asAsked' }>;

const isTold = (entry: Entry): entry is Told =>
  entry.what !== 'modifying' && entry.what !== 'unmodified' && entry.what !== 'asAsked';

/**
 * The evidence with each intent that nothing was written of settled by what was seen later: a function died between
 * EC2 and its page. One whose instance nobody saw again counts as modified, and says that this is not known.
 * `fleet` is the last look; undefined where the cluster was not read.
 */
export function settleModifications(entries: readonly Entry[], fleet: Fleet | undefined): Told[] {
  const last = new Map(entriesOf(entries, 'modifying').map((intent) => [intent.instanceId, intent]));
  const settled = [...last.values()].flatMap((intent) => settle(intent, entries, fleet));
  return [...entries.filter(isTold), ...settled].sort((a, b) => a.at.localeCompare(b.at));
}

function settle(
  intent: Of<'modifying'>,
  entries: readonly Entry[],
  fleet: Fleet | undefined,
): Of<'modified'>[] {
  const { instanceId, at } = intent;
  const later = entries.filter((entry) => entry.at >= at);
  const isWritten =
    entriesOf(later, 'modified').some((entry) => entry.instanceId === instanceId) ||
    entriesOf(later, 'unmodified').some(({ instanceIds }) => instanceIds.includes(instanceId));
  if (isWritten) return [];
  const modified: Of<'modified'> = { ...intent, what: 'modified' };
  if (entriesOf(later, 'asAsked').some(({ instanceIds }) => instanceIds.includes(instanceId)))
    return [modified];
  const now = fleet?.nodes.find(({ instance }) => instance?.instanceId === instanceId)?.instance;
  if (now?.metadataOptions === undefined)
    return [{ ...modified, why: `${intent.why}; whether EC2 changed it is not known` }];
  return mismatches(intent.after, now.metadataOptions).length === 0 ? [modified] : [];
}
