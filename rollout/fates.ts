/** What became of each instance and each Build, for the report. Pure. */
import { z } from 'zod';
import type { Fleet } from './fleet.ts';
import { entriesOf, type Entry, type Plan } from './journal.ts';
import { expired, repaired, type Leaving } from './leaving.ts';
import type { Options } from './record.ts';
import { verdictOf } from './table.ts';

const metadata = z.record(z.string(), z.union([z.string(), z.number()]));

export const instanceFate = z.strictObject({
  node: z.string(),
  instanceId: z.string().nullable(),
  before: metadata.nullable().describe('null where it did not exist or could not be read'),
  after: metadata.nullable().describe('null where it is gone or could not be read'),
  readAt: z.iso.datetime().nullable(),
  how: z
    .enum([
      'replaced',
      'interrupted',
      'expired',
      'repaired',
      'deleted',
      'modified',
      'launched',
      'untouched',
      'unknown',
    ])
    .describe(
      'replaced: by Karpenter, for drift or emptiness; what no rollout sets off has words of its own',
    ),
  why: z.string(),
});
type InstanceFate = z.infer<typeof instanceFate>;

export const buildFate = z.strictObject({
  name: z.string(),
  node: z.string(),
  changedUnder: z.boolean().describe('its node was modified live while it ran'),
  fate: z
    .enum(['running', 'ended', 'evicted'])
    .describe('as seen by the rollout; ended is finished or deleted'),
  why: z.string().nullable().describe('of one that was evicted, or whose node broke; else null'),
});
type BuildFate = z.infer<typeof buildFate>;

type Left = Extract<Entry, { what: 'left' }>;

/** Which of several causes counts: EC2's and the clock's come whatever Karpenter does meanwhile. */
const RANK: readonly Left['cause'][] = ['interrupted', 'expired', 'repaired', 'disrupted', 'deleted'];

/** How each node left, by name: the best that was said of it. */
export function departuresOf(entries: readonly Entry[]): Map<string, Left> {
  const byNode = Map.groupBy(entriesOf(entries, 'left'), ({ node }) => node);
  return new Map(
    [...byNode].flatMap(([node, left]) => {
      const [best] = left.toSorted((a, b) => RANK.indexOf(a.cause) - RANK.indexOf(b.cause));
      return best === undefined ? [] : [[node, best]];
    }),
  );
}

interface Seen {
  entries: readonly Entry[];
  /** The last look; absent where the cluster was not read. */
  fleet?: Fleet;
  readAt: string;
}

export function instancesOf(
  { fleet, readAt, entries }: Seen,
  target: Options,
  plan: Plan | null,
): InstanceFate[] {
  const planned = new Map((plan?.nodes ?? []).map((node) => [node.instanceId ?? node.node, node]));
  const changed = new Map(entriesOf(entries, 'modified').map((entry) => [entry.instanceId, entry]));
  const present = new Map((fleet?.nodes ?? []).map((node) => [node.instanceId ?? node.name, node]));
  const departures = departuresOf(entries);
  return [...new Set([...planned.keys(), ...present.keys()])].map((id) => {
    const before = planned.get(id);
    const now = present.get(id);
    const change = changed.get(id);
    const verdict = now && verdictOf(now, target, undefined);
    const left = now === undefined && before ? goneOf(before, departures, { entries, readAt }) : undefined;
    return {
      node: now?.name ?? before?.node ?? id,
      instanceId: now?.instanceId ?? before?.instanceId ?? null,
      before: before?.before ?? null,
      after: now?.instance?.metadataOptions ? { ...now.instance.metadataOptions } : null,
      readAt: now === undefined ? null : readAt,
      ...howOf({ seen: fleet !== undefined, before, change, verdict, left }),
    };
  });
}

/** Why a node is gone. One that went between two looks was not seen going, but may be known to have had to. */
function goneOf(
  planned: Plan['nodes'][number],
  departures: ReadonlyMap<string, Left>,
  { entries, readAt }: Pick<Seen, 'entries' | 'readAt'>,
): Gone {
  const { node, expiresAt } = planned;
  const left = departures.get(node);
  if (left !== undefined && left.cause !== 'deleted') return left;
  if (expiresAt !== undefined && expiresAt <= readAt) return expired(new Date(expiresAt));
  const unready = entriesOf(entries, 'unready').findLast((entry) => entry.node === node);
  if (left === undefined && unready !== undefined) return repaired(unready.at);
  if (left !== undefined) return left;
  return isUnclaimed(planned)
    ? {
        cause: 'unknown',
        why: 'gone between two looks; it had no NodeClaim that knew it when it was planned',
      }
    : { cause: 'deleted', why: 'gone between two looks, and Karpenter named no disruption of it' };
}

/** Named by its instance alone, so that no Event about a node can be told to be about it. */
const isUnclaimed = ({ node, instanceId }: Plan['nodes'][number]): boolean => node === instanceId;

interface Gone {
  cause: Leaving['cause'] | 'unknown';
  why: string;
}

interface Course {
  seen: boolean;
  before: unknown;
  change: Extract<Entry, { what: 'modified' }> | undefined;
  verdict: string | undefined;
  left: Gone | undefined;
}

function howOf({ seen, before, change, verdict, left }: Course): Pick<InstanceFate, 'how' | 'why'> {
  if (!seen) return { how: 'unknown', why: 'the cluster could not be read at the end' };
  if (left !== undefined) {
    const after = change === undefined ? '' : `, after a live modification (${change.why})`;
    return { how: left.cause === 'disrupted' ? 'replaced' : left.cause, why: `${left.why}${after}` };
  }
  if (change !== undefined) return { how: 'modified', why: change.why };
  if (before === undefined) return { how: 'launched', why: `new since the plan, ${verdict ?? 'launching'}` };
  return { how: 'untouched', why: verdict ?? 'launching' };
}

/** `instances`: how each fared, which tells what took a Build whose node is gone. */
export function buildsOf(
  { entries, fleet }: Pick<Seen, 'entries' | 'fleet'>,
  plan: Plan | null,
  instances: readonly InstanceFate[],
): BuildFate[] {
  const modified = entriesOf(entries, 'modified');
  const under = new Set(modified.flatMap(({ builds }) => builds));
  const evicted = new Map(entriesOf(entries, 'evicted').map(({ pod, why }) => [pod, why]));
  const running = new Set((fleet?.nodes ?? []).flatMap(({ builds }) => builds));
  const unready = new Map(
    entriesOf(entries, 'unready').map(({ node, at }) => [node, `not Ready since ${at}`]),
  );
  const gone = new Map(instances.filter(({ after }) => after === null).map(({ node, why }) => [node, why]));
  const seen = [
    ...(plan?.nodes ?? []),
    ...modified,
    ...(fleet?.nodes ?? []).map(({ name, builds }) => ({ node: name, builds })),
  ];
  const nodeOf = new Map([
    ...seen.flatMap(({ node, builds }) => builds.map((name) => [name, node] as const)),
    ...entriesOf(entries, 'build').map(({ build, node }) => [build, node] as const),
  ]);
  return [...nodeOf].map(([name, node]) => {
    const fate = evicted.has(name) ? 'evicted' : running.has(name) ? 'running' : 'ended';
    const ofNode = fate === 'evicted' ? gone.get(node) : fate === 'ended' ? unready.get(node) : undefined;
    const why = [evicted.get(name), ofNode && `${node}: ${ofNode}`].filter((each) => each !== undefined);
    return { name, node, changedUnder: under.has(name), fate, why: why.length > 0 ? why.join('; ') : null };
  });
}
