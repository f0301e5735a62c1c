/** Stragglers: live modification of instances that are still wrong, paced to EC2's bucket. */
import { driftUnseen, waitsFor } from './blockers.ts';
import { selectorOf } from './builds.ts';
import type { Instance, MetadataOptions } from './ec2.ts';
import { InvalidError, NotFoundError, TransientError } from './errors.ts';
import { readFleet, type BuildNode } from './fleet.ts';
import { writeJournal, type Entry } from './journal.ts';
import { dueOf, foundAsAsked, unmodified, type Due } from './modifications.ts';
import { judge, mismatches } from './options.ts';
import type { Ports } from './ports.ts';
import { lastPatchOf, type Options } from './record.ts';
import { runStep, type RunPorts, type Running } from './run.ts';
import { conclude, few, type Concluding, type Rolling } from './state.ts';

export type StragglerPorts = RunPorts & Pick<Ports, 'instances' | 'reports'>;

/**
 * The bucket of ModifyInstanceMetadataOptions, per account and Region and shared with every other caller: capacity
 * 100, 5 a second (EC2 API throttling limits).
 */
const BUCKET = { capacity: 100, perSecond: 5 };

/** How long the bucket fills, and the changes take hold, before the next look. */
const PACE_SECONDS = 10;

/** How long strategy immediate tries to change everything before it patches the class all the same. */
const BEFORE_PATCH_LIMIT_MS = 30 * 60_000;

/** How long EC2 writes go on before the turn is looked at again. */
const CHECK_MS = 5000;

export const modifyStragglersStep = (ports: StragglerPorts, state: Rolling): Promise<Rolling | Concluding> =>
  runStep(ports, state, (running) => modifyStragglers(ports, running));

/** An instance that is wrong by its values, not merely pending, and whose endpoint is on. */
const isStraggler = (target: Options, instance: Instance | undefined): instance is Instance =>
  judge(target, instance) === 'wrong' &&
  instance?.state !== 'shutting-down' &&
  mismatches(target, instance?.metadataOptions ?? {}).length > 0;

async function modifyStragglers(ports: StragglerPorts, running: Running): Promise<Rolling | Concluding> {
  const { state, ground } = running;
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, selectorOf(state.policy));
  if (!fleet.instancesKnown)
    throw new TransientError('DescribeInstances did not answer: no instance is modified unseen');
  const stragglers = fleet.nodes.filter(({ instance }) => isStraggler(state.target, instance));
  const [events, budgets] = await Promise.all([
    ground.cluster.list('Event'),
    ground.cluster.list('PodDisruptionBudget'),
  ]);
  const why = (node: BuildNode): string => {
    if (isBeforePatch(state)) return 'imds_rollout_strategy is immediate';
    const unseen = driftUnseen(node, lastPatchOf(state));
    return unseen === undefined
      ? `not replaced: it waited for ${waitsFor(node, { events, budgets }, ports.clock.now())}`
      : `not replaced: ${unseen}`;
  };
  const tokens = tokensNow(state, ports.clock.now());
  const at = ports.clock.now().toISOString();
  const due = stragglers.slice(0, tokens).flatMap((node) => dueOf(node, state.target, at, why(node)));
  const intents = due.map(({ intent }) => intent);
  await writeJournal(ports, state, 'modifying', [...foundAsAsked(fleet, state.target, at), ...intents]);
  const done: Entry[] = [];
  let throttled: boolean;
  try {
    throttled = await modifyWithin(ports, running, due, done);
  } finally {
    // What was modified is in force, whatever ended the step.
    await writeJournal(ports, state, 'modify', [...done, ...unmodified(intents, done, ports.clock.now())]);
  }
  const accepted = done.filter(({ what }) => what === 'modified').length;
  const refusals = done.flatMap((entry) => (entry.what === 'note' ? [entry.text] : []));
  if (refusals.length > 0 && refusals.length === stragglers.length)
    return conclude(state, 'Failed', few(refusals, 2));
  const bucket = {
    tokens: throttled ? 0 : tokens - accepted,
    at: ports.clock.now().toISOString(),
    // Whether EC2 refused, or all that is wrong is pending: asking at once again would only fill the history.
    refused: accepted === 0 ? (state.bucket?.refused ?? 0) + 1 : 0,
  };
  const all = !throttled && stragglers.length <= tokens;
  // EC2 that accepts nothing does not keep the class from what was asked of it: the nodes are protected.
  const waited = ports.clock.now().getTime() - new Date(state.startedAt).getTime() >= BEFORE_PATCH_LIMIT_MS;
  if (isBeforePatch(state) && (all || waited)) {
    return { ...state, next: 'hold-and-patch', lookAgainIn: 0, bucket, modifiedAll: true };
  }
  return { ...state, next: 'look', lookAgainIn: all ? 5 : PACE_SECONDS, bucket };
}

/** Strategy immediate modifies first; where the class's writer is waited for, looks have begun. */
const isBeforePatch = ({ patchedAt, awaitedSince }: Rolling): boolean =>
  patchedAt === undefined && awaitedSince === undefined;

function tokensNow({ bucket }: Rolling, now: Date): number {
  if (bucket === undefined) return BUCKET.capacity;
  const seconds = (now.getTime() - new Date(bucket.at).getTime()) / 1000;
  return Math.min(BUCKET.capacity, Math.floor(bucket.tokens + seconds * BUCKET.perSecond));
}

/** Modifies one after the other, and adds each to `done`. True where EC2 let it go no further. */
async function modifyWithin(
  ports: StragglerPorts,
  { state, guard }: Running,
  stragglers: readonly Due[],
  done: Entry[],
): Promise<boolean> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  for (const { intent, observed } of stragglers) {
    const { instanceId, node } = intent;
    if (ports.clock.now().getTime() - checkedAt >= CHECK_MS) {
      await guard.check();
      checkedAt = ports.clock.now().getTime();
    }
    const outcome = await modify(ports, instanceId, observed, state.target);
    if (outcome.kind === 'throttled') return true;
    const at = ports.clock.now().toISOString();
    if (outcome.kind === 'refused') {
      done.push({ what: 'note', at, text: `EC2 refuses to change ${instanceId} (${node}): ${outcome.why}` });
    }
    if (outcome.kind === 'accepted') done.push({ ...intent, what: 'modified', at });
  }
  return false;
}

/** Owned options as desired, all others as observed: a disabled endpoint is never switched on. */
async function modify(
  ports: Pick<Ports, 'instances'>,
  instanceId: string,
  observed: MetadataOptions,
  target: Options,
): Promise<{ kind: 'accepted' | 'gone' | 'throttled' } | { kind: 'refused'; why: string }> {
  const { state: _, ...asObserved } = observed;
  try {
    await ports.instances.modifyMetadataOptions(instanceId, { ...asObserved, ...target });
    return { kind: 'accepted' };
  } catch (error) {
    if (error instanceof TransientError) return { kind: 'throttled' };
    if (error instanceof NotFoundError) return { kind: 'gone' };
    // One that cannot be changed keeps no other from it.
    if (error instanceof InvalidError) return { kind: 'refused', why: error.message };
    throw error;
  }
}
