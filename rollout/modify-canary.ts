/** Modify canary: marks the nodes that are tried first, then modifies their instances live. */
import { selectorOf } from './builds.ts';
import { chooseCanary, isCanaryDue, named } from './canary.ts';
import { markFor, markPatch } from './canary-mark.ts';
import { canaryInWords } from './desired.ts';
import { TransientError } from './errors.ts';
import { readFleet, type BuildNode, type Fleet } from './fleet.ts';
import { holdNode, PROTECT } from './hold.ts';
import { writeJournal, type Entry } from './journal.ts';
import { dueOf, foundAsAsked } from './modifications.ts';
import { bucketAfter, modifyAll, refusalsOf, tokensNow } from './modify.ts';
import { runStep, type Running } from './run.ts';
import { conclude, few, putBackAndEnd, type Next, type Rolling } from './state.ts';
import { isStraggler, type StragglerPorts } from './stragglers.ts';

/** How long EC2 takes at least until it says `applied`. */
const APPLY_SECONDS = 5;

/** How often another canary is chosen where every node of one vanished. */
const CHOSEN_AGAIN_AT_MOST = 2;

export const modifyCanaryStep = (ports: StragglerPorts, state: Rolling): Promise<Next> =>
  runStep(ports, state, (running) => modifyCanary(ports, running));

async function modifyCanary(ports: StragglerPorts, running: Running): Promise<Next> {
  const { state, ground, record } = running;
  const { canary: policy } = state.policy;
  if (policy === undefined || !isCanaryDue(state, record, ground.nodeClass))
    return { ...state, next: 'hold-and-patch', lookAgainIn: 0 };
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, selectorOf(state.policy));
  if (!fleet.instancesKnown)
    throw new TransientError('DescribeInstances did not answer: no instance is modified unseen');
  if (state.canary?.markedAt !== undefined) return modifyMarked(ports, running, fleet);
  const taken = canaryOf(fleet, state.rack).filter(({ mark }) => mark.since < state.startedAt);
  if (taken.length > 0)
    return markAll(
      ports,
      running,
      taken.map(({ node }) => node),
    );
  const choice = chooseCanary(policy.size, fleet, state.target);
  if (choice.kind === 'refused') return conclude(state, 'Refused', choice.why);
  if (choice.kind === 'chosen') return markAll(ports, running, choice.nodes);
  const over = `no canary: ${choice.why}`;
  await note(ports, state, over);
  return { ...state, next: 'hold-and-patch', lookAgainIn: 0, canary: { ...state.canary, over } };
}

/** The nodes of a rack's canary that are still there, with their marks. */
export const canaryOf = (fleet: Fleet, rack: string) =>
  fleet.nodes.flatMap((node) =>
    node.canary === undefined || node.canary === 'unreadable' || node.canary.rack !== rack || node.leaving
      ? []
      : [{ node, mark: node.canary }],
  );

export const note = (ports: StragglerPorts, state: Rolling, text: string): Promise<void> =>
  writeJournal(ports, state, 'canary', [{ what: 'note', at: ports.clock.now().toISOString(), text }]);

/** Every node of a canary is gone, so nothing was shown: others are tried, a few times. */
export async function chooseAgain(ports: StragglerPorts, state: Rolling): Promise<Next> {
  const chosenAgain = (state.canary?.chosenAgain ?? 0) + 1;
  if (chosenAgain > CHOSEN_AGAIN_AT_MOST) {
    const reason = `every node of ${String(chosenAgain)} canaries vanished before its bake was over: nothing is proven`;
    return conclude(state, 'Failed', reason);
  }
  await note(ports, state, 'every node of the canary vanished: another one is chosen');
  return { ...state, next: 'hold-and-patch', lookAgainIn: 0, canary: { chosenAgain } };
}

/**
 * Marks and protects, in one guarded patch a node. What was before is there to be read before anything is modified,
 * which only a later call does; marks that an earlier rollout left keep what they say.
 */
async function markAll(
  ports: StragglerPorts,
  { state, guard }: Running,
  nodes: readonly BuildNode[],
): Promise<Next> {
  const done: Entry[] = [];
  let left = 0;
  try {
    for (const each of nodes) {
      const { node, instance } = each;
      if (node === undefined || instance?.metadataOptions === undefined) continue;
      const now = ports.clock.now();
      const { instanceId, metadataOptions } = instance;
      const mark = markFor(
        state,
        { instanceId, metadataOptions },
        now,
        each.canary === 'unreadable' ? undefined : each.canary,
      );
      const hold =
        state.policy.strategy === 'karpenter' ? undefined : holdNode(node, PROTECT, state.execution, now);
      const patch = markPatch(node, mark, hold);
      if (patch === undefined) continue;
      if (!(await guard.tryPatch('Node', node.metadata.name, patch))) left += 1;
      else if (hold !== undefined) done.push(held(each.name, now));
    }
  } finally {
    await writeJournal(ports, state, 'canary-holds', done);
  }
  // A node that changed meanwhile is read again; the choice is the same as long as the fleet is.
  if (left > 0) return { ...state, next: 'look', lookAgainIn: 1 };
  const size = state.policy.canary && canaryInWords(state.policy.canary.size);
  await note(
    ports,
    state,
    `${named(nodes.map(({ name }) => name))} chosen: imds_rollout_canary is ${size ?? ''}`,
  );
  return {
    ...state,
    next: 'modify-canary',
    lookAgainIn: 0,
    canary: { ...state.canary, markedAt: ports.clock.now().toISOString() },
  };
}

const held = (node: string, now: Date): Entry => ({
  what: 'hold',
  at: now.toISOString(),
  node,
  protected: true,
  cordoned: false,
  why: 'it is a canary',
});

async function modifyMarked(ports: StragglerPorts, { state, guard }: Running, fleet: Fleet): Promise<Next> {
  const marked = canaryOf(fleet, state.rack);
  if (marked.length === 0) return chooseAgain(ports, state);
  const wrong = marked.filter(({ node }) => isStraggler(state.target, node.instance));
  const tokens = tokensNow(state.bucket, ports.clock.now());
  const at = ports.clock.now().toISOString();
  const due = wrong
    .slice(0, tokens)
    .flatMap(({ node }) => dueOf(node, state.target, at, 'canary: tried before the class is patched'));
  const pages = { of: state, step: 'canary-modify', seen: foundAsAsked(fleet, state.target, at) };
  const { done, throttled } = await modifyAll(ports, () => guard.check(), due, pages);
  const now = ports.clock.now();
  const refusals = refusalsOf(done);
  if (refusals.length > 0)
    return putBackAndEnd(conclude(state, 'RolledBack', `canary: ${few(refusals, 2)}`), now);
  const accepted = done.length;
  const bucket = wrong.length === 0 ? undefined : { tokens, accepted, throttled };
  return {
    ...state,
    next: 'look',
    lookAgainIn: APPLY_SECONDS,
    ...(bucket && { bucket: bucketAfter(state.bucket, bucket, now) }),
  };
}
