/** The report: what was asked, what was done to what, and what it came to. Made from the evidence of the steps. */
import { z } from 'zod';
import { entriesOf, planSchema, type Entry } from './journal.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import { settleModifications, type Told } from './modifications.ts';
import { classOptions } from './options.ts';
import type { StoredParameter } from './ports.ts';
import { isKey } from './parameters.ts';
import { buildFate, buildsOf, departuresOf, instanceFate, instancesOf } from './fates.ts';
import { outcomes } from './record.ts';
import { verdictOf } from './table.ts';
import type { Fleet } from './fleet.ts';
import type { Concluding } from './state.ts';

const instant = z.iso.datetime();
const metadata = z.record(z.string(), z.union([z.string(), z.number()]));

export const reportSchema = z.strictObject({
  schemaVersion: z.literal(1),
  rack: z.string(),
  cluster: z.string().nullable().describe('null where the rack is not registered'),
  execution: z.string(),
  asked: z.array(
    z.strictObject({
      key: z.string(),
      value: z.string(),
      version: z.int(),
      date: instant,
      user: z.string().nullable(),
    }),
  ),
  generation: z.string().nullable(),
  plan: planSchema.nullable().describe('null where nothing was planned'),
  approval: z
    .strictObject({
      decision: z.enum(['approved', 'rejected']),
      by: z.string().describe('the identity that STS gave'),
      at: instant,
      reason: z.string(),
      hash: z.string(),
    })
    .nullable()
    .describe('null where nobody decided'),
  class: z
    .strictObject({
      name: z.string(),
      before: metadata,
      after: metadata,
      resourceVersions: z.array(z.string()),
    })
    .nullable(),
  instances: z.array(instanceFate),
  builds: z.array(buildFate),
  holds: z.array(
    z.strictObject({
      node: z.string(),
      at: instant,
      protected: z.boolean(),
      cordoned: z.boolean(),
      why: z.string(),
    }),
  ),
  blockers: z.array(z.strictObject({ node: z.string(), why: z.string() })),
  stragglers: z.array(
    z.strictObject({
      node: z.string(),
      instanceId: z.string(),
      modifiedAt: instant,
      why: z.string(),
      builds: z.array(z.string()),
    }),
  ),
  unknowns: z.array(z.string()),
  calls: z.record(z.string(), z.int()).describe('the writes that the rollout made, by API, and its looks'),
  cost: z
    .strictObject({ stateTransitions: z.int(), usd: z.number() })
    .describe('an estimate, of Step Functions alone'),
  outcome: z.enum(outcomes),
  reason: z.string(),
  timeline: z.array(z.strictObject({ at: instant, what: z.string() })),
});
export type Report = z.infer<typeof reportSchema>;

/** Standard workflows, us-east-1, a state transition. */
const USD_A_TRANSITION = 0.000025;

export interface Evidence {
  ending: Concluding;
  cluster: string | null;
  parameters: readonly StoredParameter[];
  users: ReadonlyMap<string, string | undefined>;
  entries: readonly Entry[];
  /** The class at the end; absent where it was not read. */
  nodeClass?: EC2NodeClass;
  /** The last look; absent where the cluster was not read. */
  fleet?: Fleet;
  readAt: string;
  blockers: Report['blockers'];
}

export function makeReport(evidence: Evidence): Report {
  const { ending, fleet } = evidence;
  const entries = settleModifications(evidence.entries, fleet);
  const plan = entriesOf(entries, 'planned').at(-1)?.plan ?? null;
  const patches = entriesOf(entries, 'patched');
  const modified = entriesOf(entries, 'modified');
  const departures = departuresOf(entries);
  const instances = instancesOf({ ...evidence, entries }, ending.target ?? {}, plan);
  const transitions = 6 + 3 * ending.looks + 2 * modified.length;
  return {
    schemaVersion: 1,
    rack: ending.rack,
    cluster: evidence.cluster,
    execution: ending.execution,
    asked: askedOf(evidence),
    generation: ending.generation ?? null,
    plan,
    approval: approvalOf(entries),
    class: classOf(plan, patches, evidence.nodeClass),
    instances,
    builds: buildsOf({ ...evidence, entries }, plan, instances),
    holds: entriesOf(entries, 'hold').map(({ what: _, ...hold }) => hold),
    blockers: evidence.blockers,
    stragglers: modified.map(({ node, instanceId, at, why, builds }) => ({
      node,
      instanceId,
      modifiedAt: at,
      why,
      builds,
    })),
    unknowns: unknownsOf(ending, fleet),
    calls: {
      'kubernetes:patch': entriesOf(entries, 'hold').length + patches.length,
      'ec2:ModifyInstanceMetadataOptions': modified.length,
      looks: ending.looks,
    },
    cost: { stateTransitions: transitions, usd: Number((transitions * USD_A_TRANSITION).toFixed(6)) },
    outcome: ending.outcome,
    reason: ending.reason,
    timeline: [
      { at: ending.startedAt, what: `execution ${ending.execution} started` },
      ...entries
        // What took a node is told once, as the best that is known of it.
        .filter((entry) => entry.what !== 'left' || departures.get(entry.node) === entry)
        .map((entry) => ({ at: entry.at, what: inWords(entry) })),
      { at: evidence.readAt, what: `${ending.outcome}: ${ending.reason}` },
    ],
  };
}

function approvalOf(entries: readonly Entry[]): Report['approval'] {
  const decided = entriesOf(entries, 'decided').at(-1);
  if (decided === undefined) return null;
  const { what: _, ...approval } = decided;
  return approval;
}

const askedOf = ({ parameters, users }: Evidence): Report['asked'] =>
  parameters
    .filter(({ key }) => isKey(key))
    .map(({ key, value, version, lastModifiedDate }) => ({
      key,
      value,
      version,
      date: lastModifiedDate,
      user: users.get(key) ?? null,
    }));

/** Whose author is worth asking Parameter Store for. */
export const authoredKeys = (parameters: readonly StoredParameter[]): string[] =>
  parameters.filter(({ key }) => isKey(key)).map(({ key }) => key);

function classOf(
  plan: Report['plan'],
  patches: readonly Extract<Entry, { what: 'patched' }>[],
  now: EC2NodeClass | undefined,
): Report['class'] {
  if (plan === null) return null;
  return {
    name: plan.class.name,
    before: plan.class.before,
    // As read at the end, where it was: the page of a patch may be lost with the step that wrote it.
    after: now === undefined ? (patches.at(-1)?.after ?? plan.class.before) : classOptions(now),
    resourceVersions: [
      plan.class.resourceVersion,
      ...patches.map(({ resourceVersionAfter }) => resourceVersionAfter),
      ...(now === undefined ? [] : [now.metadata.resourceVersion]),
    ],
  };
}

function unknownsOf(ending: Concluding, fleet: Fleet | undefined): string[] {
  if (fleet === undefined) return ['the cluster was not read at the end'];
  return fleet.nodes
    .filter((node) => verdictOf(node, ending.target ?? {}, undefined) === 'unknown')
    .map(({ name }) => name);
}

const buildNodes = (count: number): string => `${String(count)} build node${count === 1 ? '' : 's'}`;

function inWords(entry: Told): string {
  switch (entry.what) {
    case 'planned':
      return `planned: ${buildNodes(entry.plan.nodes.length)}`;
    case 'hold': {
      const holds = [entry.protected ? 'protected' : '', entry.cordoned ? 'cordoned' : '']
        .filter(Boolean)
        .join(' and ');
      return `${entry.node} ${holds === '' ? 'released' : holds}: ${entry.why}`;
    }
    case 'allProtected':
      return entry.nodes.length === 1
        ? 'the one build node was found protected'
        : `all ${String(entry.nodes.length)} build nodes were found protected`;
    case 'patched':
      return `EC2NodeClass ${entry.class} patched: ${entry.why}`;
    case 'modified':
      return `${entry.instanceId} (${entry.node}) modified live: ${entry.why}`;
    case 'build':
      return `Build ${entry.build} came to ${entry.node}`;
    case 'left':
      return `${entry.node} is on its way out: ${entry.why}`;
    case 'unready':
      return `${entry.node} is not Ready any more`;
    case 'evicted':
      return `${entry.pod} evicted: ${entry.why}`;
    case 'asked':
      return `waits for approval of ${entry.hash}, since ${entry.why}: ${entry.changes}`;
    case 'decided':
      return `${entry.hash} ${entry.decision} by ${entry.by}: ${entry.reason}`;
    case 'note':
      return entry.text;
  }
}
