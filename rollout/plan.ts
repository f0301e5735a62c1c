/** Plan: what would happen, from reads alone. It writes no object of the cluster and nothing in EC2. */
import { createHash } from 'node:crypto';
import { isApprovedPurpose, questionOf, type Question } from './approval.ts';
import { waitsFor } from './blockers.ts';
import { selectorOf } from './builds.ts';
import { chooseCanary, isCanaryDue, type Choice } from './canary.ts';
import { decide, type Decision, type Policy } from './desired.ts';
import { TransientError } from './errors.ts';
import { readFleet, type BuildNode, type Fleet } from './fleet.ts';
import { readGround, registrationOf, type Ground } from './ground.ts';
import type { Plan } from './journal.ts';
import type { EC2NodeClass, Lease } from './kubernetes.ts';
import { expiryOf } from './leaving.ts';
import { classOptions, inWords, loosenings, mismatches, owned, pick } from './options.ts';
import { foreignOwners } from './owners.ts';
import { isKey } from './parameters.ts';
import type { Ports, StoredParameter } from './ports.ts';
import { needsApproval, purposeOf, standing, type Purpose } from './purpose.ts';
import type { Outcome, RolloutRecord } from './record.ts';
import { refuse } from './refusals.ts';
import { few } from './state.ts';
import { isToBeReplaced, verdictOf } from './table.ts';
import { findLease, holderOf, leaseMissing } from './turn.ts';
import { hasCome } from './writer.ts';

export type PlanPorts = Pick<
  Ports,
  'clock' | 'parameters' | 'records' | 'approvals' | 'instances' | 'clusters' | 'workflow' | 'reports'
>;

export type Asks = Extract<Decision, { kind: 'asks' }>;

export type Proposal =
  | { kind: 'end'; outcome: Outcome; reason: string; purpose?: Purpose; fleet?: Fleet }
  /** `differs`: class or instances are not as desired; else only holds of an earlier rollout are left. */
  | {
      kind: 'roll';
      purpose: Purpose;
      asks: Asks;
      ground: Ground;
      fleet: Fleet;
      record: RolloutRecord;
      differs: boolean;
      reason: string;
      /** What a person has to approve before; absent where the rollout may start by itself. */
      question?: Question;
    };

type Rollout = Extract<Proposal, { kind: 'roll' }>;

const end = (outcome: Outcome, reason: string): Proposal => ({ kind: 'end', outcome, reason });

/** What a rack needs now. `execution` is whose plan it is, so that it does not wait for itself. */
export async function propose(
  ports: Omit<PlanPorts, 'reports' | 'approvals'>,
  rack: string,
  execution?: string,
): Promise<Proposal> {
  const { registration, others } = await registrationOf(ports, rack);
  if (registration === undefined) {
    return end('Refused', refuse('notRegistered', { rack }));
  }
  const [stored, record] = await Promise.all([ports.parameters.list(rack), ports.records.read(rack)]);
  const decision = decide(stored, owned(record.baseline).length > 0);
  if (decision.kind === 'refused') return end('Refused', decision.refusals.join('; '));
  if (decision.kind !== 'asks') return withoutAsk(decision, record);

  const read = await readGround(ports, registration, others);
  if (read.kind === 'gone') return end(record.holdsMayExist ? 'Withdrawn' : 'Refused', read.why);
  if (read.refusal !== undefined) return end('Refused', read.refusal);
  const { ground } = read;
  const purpose = purposeOf(decision, record, ground.nodeClass.metadata.uid);
  const forbidden = await forbiddenByAccount(ports, purpose);
  if (forbidden !== undefined) return end('Refused', forbidden);

  const fleet = await readFleet(ports, ground.cluster, registration, ground, selectorOf(decision.policy));
  if (!fleet.instancesKnown)
    throw new TransientError('DescribeInstances did not answer: nothing can be said of any instance');
  const differs =
    difference(fleet, purpose, ground.nodeClass) ??
    // Its nodes are about to be replaced, right as they may be, and nobody protects what runs on them.
    (hasCome(record, { ...purpose, policy: decision.policy }, ground.nodeClass)
      ? `EC2NodeClass ${ground.nodeClass.metadata.name} has come to say what is asked`
      : undefined) ??
    canaryStanding(fleet);
  const held = fleet.nodes
    .filter(({ hold, leaving }) => hold !== undefined && !leaving)
    .map(({ name }) => name);
  const why = differs ?? (held.length > 0 ? `${few(held)} still held by an earlier rollout` : undefined);
  const noticed = decision.notices.map((notice) => ` (${notice})`).join('');
  if (why === undefined) {
    return {
      ...end('NothingToDo', `class and instances are as desired: ${inWords(purpose.target)}${noticed}`),
      purpose,
      fleet,
    };
  }
  const canary = plannedCanary(decision.policy, purpose, { ground, fleet, record });
  if (canary?.kind === 'refused') return end('Refused', canary.why);
  const lease = await findLease(ground.cluster, ground.nodeClass.metadata.name);
  if (lease === undefined) return end('Refused', leaseMissing(ground.nodeClass.metadata.name));
  const running = await alreadyRunning(ports, lease, purpose, execution);
  if (running !== undefined)
    return { ...end('NothingToDo', `already being rolled out by ${running}`), purpose };
  const question = isApprovedPurpose(record, purpose)
    ? undefined
    : questionAbout(decision, ground, fleet, purpose, record);
  return {
    kind: 'roll',
    ...(question !== undefined && { question }),
    purpose,
    asks: decision,
    ground,
    fleet,
    record,
    differs: differs !== undefined,
    reason: `${why}${noticed}`,
  };
}

/** That an earlier rollout left its canary, which is to be taken over or put back. */
function canaryStanding({ nodes }: Fleet): string | undefined {
  const marked = nodes.filter(({ canary, leaving }) => canary !== undefined && !leaving);
  return marked.length > 0
    ? `${few(marked.map(({ name }) => name))} still canary of an earlier rollout`
    : undefined;
}

interface Seen {
  ground: Ground;
  fleet: Fleet;
  record: RolloutRecord;
}

/** The canary that a rollout would begin with; undefined where it has none, or goes on with one that stands. */
function plannedCanary(
  policy: Policy,
  purpose: Purpose,
  { ground, fleet, record }: Seen,
): Choice | undefined {
  const isDue = isCanaryDue({ ...purpose, policy }, record, ground.nodeClass);
  if (policy.canary === undefined || !isDue || canaryStanding(fleet) !== undefined) return undefined;
  return chooseCanary(policy.canary.size, fleet, purpose.target);
}

/** What a person has to approve; undefined where the policy lets the change start by itself. */
function questionAbout(
  { policy }: Asks,
  { nodeClass }: Ground,
  fleet: Fleet,
  purpose: Purpose,
  record: RolloutRecord,
): Question | undefined {
  const from = classOptions(nodeClass);
  const live = [
    ...standing(policy, record, nodeClass),
    // What a canary is tried with nobody has come to rely on: it counts as what it was.
    ...fleet.nodes.flatMap(({ instance, canary }) =>
      canary === undefined || canary === 'unreadable' ? (instance?.metadataOptions ?? []) : canary.before,
    ),
  ];
  const why = needsApproval(policy, live, purpose.target, from);
  if (why === undefined) return undefined;
  const { name, uid } = nodeClass.metadata;
  const owners = foreignOwners(nodeClass);
  return questionOf({ nodeClass: { name, uid }, from, live, purpose, policy, owners, why });
}

function withoutAsk(
  decision: Exclude<Decision, Asks | { kind: 'refused' }>,
  record: RolloutRecord,
): Proposal {
  const why =
    decision.kind === 'inert'
      ? `${decision.everAsked ? 'the IMDS parameters are stored and inert: ' : ''}${decision.why}`
      : 'no IMDS parameter is set, and nothing is owned';
  return record.holdsMayExist ? end('Withdrawn', why) : end('NothingToDo', why);
}

async function forbiddenByAccount(
  ports: Pick<Ports, 'instances'>,
  purpose: Purpose,
): Promise<string | undefined> {
  if (purpose.target.httpTokens !== 'optional') return undefined;
  const { httpTokensEnforced, managedBy } = await ports.instances.accountDefaults();
  const who = managedBy === 'declarative-policy' ? 'an organisation policy' : 'the account';
  return httpTokensEnforced ? refuse('tokensEnforced', { who }) : undefined;
}

/** What is not as desired, in words; undefined where class and instances are. */
function difference(fleet: Fleet, purpose: Purpose, nodeClass: EC2NodeClass): string | undefined {
  const differing = mismatches(purpose.target, classOptions(nodeClass));
  if (differing.length > 0) {
    return `the class says ${inWords(pick(classOptions(nodeClass), differing))}, asked is ${inWords(pick(purpose.target, differing))}`;
  }
  if (purpose.restoring.length > 0) return `${purpose.restoring.join(' and ')} still to be given back`;
  const wrong = fleet.nodes.filter((node) =>
    ['wrong', 'unknown'].includes(verdictOf(node, purpose.target, undefined) ?? ''),
  );
  return wrong.length > 0
    ? `${String(wrong.length)} of ${String(fleet.nodes.length)} instances are not known to be right: ${few(wrong.map(({ name }) => name))}`
    : undefined;
}

async function alreadyRunning(
  ports: Pick<Ports, 'workflow'>,
  lease: Lease,
  purpose: Purpose,
  execution: string | undefined,
): Promise<string | undefined> {
  const holder = holderOf(lease);
  if (holder === undefined || holder.execution === execution || holder.generation !== purpose.generation)
    return undefined;
  return (await ports.workflow.describe(holder.execution))?.status === 'RUNNING'
    ? holder.execution
    : undefined;
}

/** What becomes of the class and of each node, of what was seen already; reads only what may block. */
export async function describePlan(
  ports: Pick<Ports, 'clock'>,
  { ground, fleet, purpose, asks, record }: Pick<Rollout, 'ground' | 'fleet' | 'purpose' | 'asks' | 'record'>,
): Promise<Plan> {
  const { nodeClass, cluster } = ground;
  const [events, budgets] = await Promise.all([cluster.list('Event'), cluster.list('PodDisruptionBudget')]);
  const now = ports.clock.now();
  const classChanges = mismatches(purpose.target, classOptions(nodeClass)).length > 0;
  const nodes = fleet.nodes.map((node): Plan['nodes'][number] => {
    const verdict = verdictOf(node, purpose.target, now);
    const replaced = classChanges || isToBeReplaced(node, verdict);
    // Strategy karpenter waits for no Build.
    const kept = node.builds.length > 0 && asks.policy.strategy !== 'karpenter';
    const fate = kept ? 'keptUntilBuildsEnd' : 'replaced';
    return {
      node: node.name,
      instanceId: node.instanceId ?? null,
      before: node.instance?.metadataOptions ? { ...node.instance.metadataOptions } : null,
      verdict: verdict ?? 'launching',
      builds: node.builds,
      ...expiry(node),
      fate: verdict === 'unknown' ? 'unknown' : replaced ? fate : 'untouched',
    };
  });
  const blocked = fleet.nodes
    .filter(({ builds, node }) => builds.length === 0 && node !== undefined)
    .map((node) => ({ node: node.name, why: waitsFor(node, { events, budgets }, now) }))
    .filter(({ why }) => !why.startsWith('Karpenter, within'));
  return {
    class: {
      name: nodeClass.metadata.name,
      uid: nodeClass.metadata.uid,
      before: classOptions(nodeClass),
      resourceVersion: nodeClass.metadata.resourceVersion,
    },
    target: purpose.target,
    restoring: purpose.restoring,
    looser: loosenings(classOptions(nodeClass), purpose.target),
    owners: foreignOwners(nodeClass),
    notices: asks.notices,
    nodes,
    blockers: blocked,
    ...canaryPlan(asks.policy, purpose, { ground, fleet, record }),
  };
}

function canaryPlan(policy: Policy, purpose: Purpose, seen: Seen): Pick<Plan, 'canary'> {
  const choice = plannedCanary(policy, purpose, seen);
  if (policy.canary === undefined || choice === undefined || choice.kind === 'refused') return {};
  const nodes = choice.kind === 'chosen' ? choice.nodes.map(({ name }) => name) : [];
  const { bake } = policy.canary;
  return { canary: { nodes, bake, ...(choice.kind === 'none' && { none: choice.why }) } };
}

function expiry({ claim }: BuildNode): Pick<Plan['nodes'][number], 'expiresAt'> {
  const at = claim && expiryOf(claim);
  return at === undefined ? {} : { expiresAt: at.toISOString() };
}

/** lastModifiedDate by key, of the parameters that matter: a later one is a parameter written again. */
/** Names alone, in short: a parameter that is deleted leaves no date behind. */
export const namesHash = (stored: readonly StoredParameter[]): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.keys(datesOf(stored)).sort()))
    .digest('hex')
    .slice(0, 12);

export const datesOf = (stored: readonly StoredParameter[]): Record<string, string> =>
  Object.fromEntries(
    stored.filter(({ key }) => isKey(key)).map(({ key, lastModifiedDate }) => [key, lastModifiedDate]),
  );
