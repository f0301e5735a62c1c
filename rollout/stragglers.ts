/** Stragglers: live modification of instances that are still wrong, paced to EC2's bucket. */
import { driftUnseen, waitsFor } from './blockers.ts';
import { selectorOf } from './builds.ts';
import type { Instance } from './ec2.ts';
import { TransientError } from './errors.ts';
import { readFleet, type BuildNode } from './fleet.ts';
import { dueOf, foundAsAsked } from './modifications.ts';
import { bucketAfter, modifyAll, refusalsOf, tokensNow } from './modify.ts';
import { judge, mismatches } from './options.ts';
import type { Ports } from './ports.ts';
import { lastPatchOf, type Options } from './record.ts';
import { runStep, type RunPorts, type Running } from './run.ts';
import { conclude, few, type Next, type Rolling } from './state.ts';

export type StragglerPorts = RunPorts & Pick<Ports, 'instances' | 'reports'>;

/** How long the bucket fills, and the changes take hold, before the next look. */
const PACE_SECONDS = 10;

/** How long strategy immediate tries to change everything before it patches the class all the same. */
const BEFORE_PATCH_LIMIT_MS = 30 * 60_000;

export const modifyStragglersStep = (ports: StragglerPorts, state: Rolling): Promise<Next> =>
  runStep(ports, state, (running) => modifyStragglers(ports, running));

/** An instance that is wrong by its values, not merely pending, and whose endpoint is on. */
export const isStraggler = (target: Options, instance: Instance | undefined): instance is Instance =>
  judge(target, instance) === 'wrong' &&
  instance?.state !== 'shutting-down' &&
  mismatches(target, instance?.metadataOptions ?? {}).length > 0;

async function modifyStragglers(ports: StragglerPorts, running: Running): Promise<Next> {
  const { state, ground, guard } = running;
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
  const tokens = tokensNow(state.bucket, ports.clock.now());
  const at = ports.clock.now().toISOString();
  const due = stragglers.slice(0, tokens).flatMap((node) => dueOf(node, state.target, at, why(node)));
  const pages = { of: state, step: 'modify', seen: foundAsAsked(fleet, state.target, at) };
  const { done, throttled } = await modifyAll(ports, () => guard.check(), due, pages);
  const accepted = done.filter(({ what }) => what === 'modified').length;
  const refusals = refusalsOf(done);
  if (refusals.length > 0 && refusals.length === stragglers.length)
    return conclude(state, 'Failed', few(refusals, 2));
  const bucket = bucketAfter(state.bucket, { tokens, accepted, throttled }, ports.clock.now());
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
