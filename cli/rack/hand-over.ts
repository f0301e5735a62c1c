/** What a class and its nodes get back when their rack is removed. */
import { ConflictError } from '../../rollout/errors.ts';
import { readFleet, readNodes } from '../../rollout/fleet.ts';
import { sharedNow, type Ground } from '../../rollout/ground.ts';
import { writes } from '../../rollout/guard.ts';
import { handBack } from '../../rollout/hand-back.ts';
import { NOTHING } from '../../rollout/hold.ts';
import { duePatches, keep } from '../../rollout/keep.ts';
import { classOptions, inWords, mismatches, OPTIONS, owned } from '../../rollout/options.ts';
import type { Ports } from '../../rollout/ports.ts';
import { baselineOf } from '../../rollout/purpose.ts';
import type { Options, RolloutRecord } from '../../rollout/record.ts';
import { few } from '../../rollout/state.ts';
import { CommandFailure } from '../failure.ts';
import type { Say } from '../step.ts';

export type Choice = 'baseline' | 'keep';

export interface HandOver {
  ground: Ground;
  record: RolloutRecord;
  choice: Choice | undefined;
  dryRun: boolean;
}

/** The values that the class is to get, which differ from those that it has. */
function due({ ground, record, choice }: HandOver): Options {
  const baseline = baselineOf(record, ground.nodeClass.metadata.uid);
  const differing = choice === 'baseline' ? mismatches(baseline, classOptions(ground.nodeClass)) : [];
  return Object.fromEntries(differing.map((option) => [option, baseline[option]]));
}

/**
 * Throws a CommandFailure where handing over would cost a Build: nobody is left afterwards to keep Karpenter from a
 * node that drifts.
 */
export async function refuseLosses(
  ports: Pick<Ports, 'clock' | 'instances'>,
  over: HandOver,
  rack: string,
): Promise<void> {
  const { ground, record, choice } = over;
  const owns = owned(baselineOf(record, ground.nodeClass.metadata.uid));
  if (owns.length > 0 && choice === undefined) {
    throw new CommandFailure(
      `the service owns ${owns.join(' and ')} of EC2NodeClass ${ground.nodeClass.metadata.name}: ` +
        `before it, the class said ${inWords(record.baseline)}, now it says ${inWords(classOptions(ground.nodeClass))}\n` +
        'Say what the class is to keep: --baseline (what it said before) or --keep (what it says now)',
    );
  }
  const fleet = await readFleet(ports, ground.cluster, ground.registration, ground, () => true);
  const patches = owned(due(over)).length > 0;
  const atRisk = fleet.nodes.filter(
    ({ builds, hold, drifted }) => builds.length > 0 && (patches || (hold !== undefined && drifted)),
  );
  if (atRisk.length === 0) return;
  const named = few(atRisk.map(({ name, builds }) => `${few(builds)} on ${name}`));
  throw new CommandFailure(
    `Karpenter would evict running Builds once nobody holds their nodes: ${named}\n` +
      (patches
        ? `Let a rollout give the values back, which waits for Builds: imds-rollout params unset the IMDS parameters of rack ${rack}, imds-rollout watch, then remove it; or try again when no Build runs`
        : 'Try again when these Builds have ended; reconcile releases their nodes then'),
  );
}

/** Gives values and fields back, then releases the nodes. Done twice it writes nothing. */
export async function handOver(ports: Pick<Ports, 'clock'>, over: HandOver, say: Say): Promise<void> {
  await handBackClass(over, say);
  await releaseNodes(ports, over, say);
}

async function handBackClass(over: HandOver, say: Say): Promise<void> {
  const { ground, choice, dryRun } = over;
  const { metadata } = ground.nodeClass;
  const values = due(over);
  const changes = owned(values).length > 0;
  if (changes) {
    const shared = await sharedNow(ground);
    if (shared !== undefined) {
      throw new CommandFailure(`${shared}\nWith --keep the class is not written`);
    }
    // The Lease is gone by now: no rollout can write, so there is nobody to look for before the patch.
    const { patch } = writes(ground, () => Promise.resolve());
    if (!dryRun) {
      await patch('EC2NodeClass', metadata.name, {
        metadata: { resourceVersion: metadata.resourceVersion },
        spec: { metadataOptions: { ...values } },
      });
    }
  }
  if (!dryRun) await handBack(ground, OPTIONS, false);
  const how = changes
    ? `is back at ${inWords(values)}; Karpenter replaces its nodes now`
    : `keeps ${inWords(classOptions(ground.nodeClass))}${choice === 'baseline' ? ', what it said before' : ''}`;
  say(
    changes ? '~' : '=',
    `EC2NodeClass ${metadata.name} ${how}; its fields and annotations are no longer the service's`,
  );
}

/** No execution's report is written: the steps are said as they happen. */
export const NO_EVIDENCE = (): Promise<void> => Promise.resolve();

/** A node that changes again and again is not waited for for ever. */
const ROUNDS = 20;

async function releaseNodes(ports: Pick<Ports, 'clock'>, over: HandOver, say: Say): Promise<void> {
  const { ground, dryRun } = over;
  const released = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const held = (await heldNodes(ground)).filter(({ patches }) => patches.length > 0);
    if (held.length === 0 || dryRun) {
      for (const { name } of held) released.add(name);
      say(
        released.size === 0 ? '=' : '-',
        released.size === 0 ? 'no node is held' : `holds of ${few([...released])}`,
      );
      return;
    }
    const { tryPatch } = writes(ground, () => Promise.resolve());
    await keep(
      ports,
      { tryPatch },
      held.flatMap(({ patches }) => patches),
      NO_EVIDENCE,
    );
    for (const { name } of held) released.add(name);
  }
  throw new ConflictError('nodes change faster than their holds can be released: run this again');
}

type Due = ReturnType<typeof duePatches>;

/** Build nodes of this rack alone: another rack of the cluster keeps its holds. */
async function heldNodes(ground: Ground): Promise<{ name: string; patches: Due }[]> {
  return (await readNodes(ground))
    .filter(({ hold }) => hold !== undefined)
    .map((node) => ({
      name: node.name,
      patches: duePatches([{ node, want: NOTHING, why: 'the rack is removed' }], undefined, new Date(0)),
    }));
}
