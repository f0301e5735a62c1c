/** The evidence of an execution as it happens, one object a step that did something; the report is made from it. */
import pMap from 'p-map';
import { z } from 'zod';
import { TransientError } from './errors.ts';
import { causes } from './leaving.ts';
import { reportKey } from './naming.ts';
import type { Clock, Reports } from './ports.ts';
import { optionsSchema } from './record.ts';

const instant = z.iso.datetime();
const metadataSchema = z.record(z.string(), z.union([z.string(), z.number()]));

const plannedNodeSchema = z.strictObject({
  node: z.string(),
  instanceId: z.string().nullable(),
  before: metadataSchema.nullable(),
  verdict: z.enum(['right', 'wrong', 'unknown', 'off', 'launching']),
  builds: z.array(z.string()),
  expiresAt: instant.exactOptional().describe('when Karpenter deletes it, whatever holds it'),
  /** What will become of it, as far as can be told. */
  fate: z.enum(['replaced', 'keptUntilBuildsEnd', 'untouched', 'unknown']),
});

export const planSchema = z.strictObject({
  class: z.strictObject({
    name: z.string(),
    uid: z.string(),
    before: optionsSchema,
    resourceVersion: z.string(),
  }),
  target: optionsSchema,
  restoring: z.array(z.string()),
  looser: z.array(z.string()),
  owners: z.record(z.string(), z.array(z.string())),
  notices: z.array(z.string()),
  nodes: z.array(plannedNodeSchema),
  blockers: z.array(z.strictObject({ node: z.string(), why: z.string() })),
  canary: z
    .strictObject({
      nodes: z.array(z.string()),
      bake: z.number().describe('seconds'),
      none: z.string().exactOptional().describe('why there is none'),
    })
    .exactOptional()
    .describe('the nodes that are modified live, and watched, before the class is patched'),
});
export type Plan = z.infer<typeof planSchema>;

/** One live modification. */
const modification = {
  at: instant,
  instanceId: z.string(),
  node: z.string(),
  before: metadataSchema,
  after: metadataSchema,
  /** Builds that ran on it then. */
  builds: z.array(z.string()),
  /** Why it had not been replaced. */
  why: z.string(),
};

const entrySchema = z.discriminatedUnion('what', [
  z.strictObject({ what: z.literal('planned'), at: instant, plan: planSchema }),
  z.strictObject({
    what: z.literal('hold'),
    at: instant,
    node: z.string(),
    protected: z.boolean(),
    cordoned: z.boolean(),
    why: z.string(),
  }),
  z.strictObject({ what: z.literal('allProtected'), at: instant, nodes: z.array(z.string()) }),
  z.strictObject({
    what: z.literal('patched'),
    at: instant,
    class: z.string(),
    before: optionsSchema,
    after: optionsSchema,
    resourceVersionBefore: z.string(),
    resourceVersionAfter: z.string(),
    why: z.string(),
  }),
  /** Written before EC2 is asked: a function may die before it can write what came of it. */
  z.strictObject({ what: z.literal('modifying'), ...modification }),
  z.strictObject({ what: z.literal('modified'), ...modification }),
  /** Those that EC2 did not change, or was not asked to after all. */
  z.strictObject({ what: z.literal('unmodified'), at: instant, instanceIds: z.array(z.string()) }),
  /** Those that were found to have the values that are asked. */
  z.strictObject({ what: z.literal('asAsked'), at: instant, instanceIds: z.array(z.string()) }),
  z.strictObject({ what: z.literal('build'), at: instant, build: z.string(), node: z.string() }),
  z.strictObject({
    what: z.literal('left'),
    at: instant,
    node: z.string(),
    cause: z.enum(causes),
    why: z.string(),
    /** Builds that ran on it then. */
    builds: z.array(z.string()),
  }),
  z.strictObject({ what: z.literal('unready'), at: instant, node: z.string() }),
  z.strictObject({ what: z.literal('evicted'), at: instant, pod: z.string(), why: z.string() }),
  z.strictObject({
    what: z.literal('asked'),
    at: instant,
    hash: z.string(),
    changes: z.string(),
    why: z.string(),
    until: instant,
  }),
  z.strictObject({
    what: z.literal('decided'),
    at: instant,
    decision: z.enum(['approved', 'rejected']),
    hash: z.string(),
    by: z.string(),
    reason: z.string(),
  }),
  z.strictObject({ what: z.literal('note'), at: instant, text: z.string() }),
]);
export type Entry = z.infer<typeof entrySchema>;

/** Those of one kind. */
export const entriesOf = <W extends Entry['what']>(
  entries: readonly Entry[],
  what: W,
): Extract<Entry, { what: W }>[] =>
  entries.filter((entry): entry is Extract<Entry, { what: W }> => entry.what === what);

const journalSchema = z.array(entrySchema);

interface Of {
  rack: string;
  execution: string;
  startedAt: string;
}

const prefixOf = ({ rack, execution, startedAt }: Of): string => `${reportKey(rack, execution, startedAt)}/`;

/** Writes what a step did. A step that did nothing writes nothing. */
export async function writeJournal(
  ports: { clock: Clock; reports: Reports },
  of: Of,
  step: string,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return;
  const key = `${prefixOf(of)}${ports.clock.now().toISOString()}-${step}.json`;
  await ports.reports.put(key, JSON.stringify(entries), 'application/json');
}

/** Requests to the bucket at the same time: as many as the SDK has sockets. */
const AT_ONCE = 50;

/**
 * Reads every page; of those that did not answer, again, as long as others do. A long rollout has hundreds of them, and
 * one throttled read of so many is to be expected: it must not cost all the others.
 */
async function readPages(
  { reports }: { reports: Reports },
  keys: readonly string[],
): Promise<(string | undefined)[]> {
  const read = new Map<string, string | undefined>();
  while (read.size < keys.length) {
    const missing = keys.filter((key) => !read.has(key));
    const failures: TransientError[] = [];
    const readPage = async (key: string): Promise<void> => {
      try {
        read.set(key, await reports.get(key));
      } catch (error) {
        if (!(error instanceof TransientError)) throw error;
        failures.push(error);
      }
    };
    await pMap(missing, readPage, { concurrency: AT_ONCE });
    const [failure] = failures;
    if (failure !== undefined && failures.length === missing.length) throw failure;
  }
  return keys.map((key) => read.get(key));
}

/** Everything that the steps of an execution wrote, in the order in which it happened, equal entries once. */
export async function readJournal(ports: { reports: Reports }, of: Of): Promise<Entry[]> {
  const parts = await readPages(ports, await ports.reports.list(prefixOf(of)));
  const entries = parts.flatMap((body) => (body === undefined ? [] : journalSchema.parse(JSON.parse(body))));
  return [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()].sort(
    (a, b) => a.at.localeCompare(b.at) || Number(b.what === 'planned') - Number(a.what === 'planned'),
  );
}
