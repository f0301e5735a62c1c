/**
 * The class's external writer: what a rollout waits for where Terraform or GitOps renders the class and it must not
 * patch it itself. Pure.
 */
import type { Policy } from './desired.ts';
import type { EC2NodeClass } from './kubernetes.ts';
import { NODECLASS_HASH } from './naming.ts';
import { classOptions, inWords, mismatches, pick } from './options.ts';
import { managersOf } from './owners.ts';
import type { Options, RolloutRecord } from './record.ts';

/** What of a rollout says whether its class is somebody else's to write. */
interface Asking {
  policy: Pick<Policy, 'classWriter'>;
  target: Options;
}

export const isExternal = ({ policy }: Pick<Asking, 'policy'>): boolean => policy.classWriter === 'external';

/** Whether the class is somebody else's to write, and does not say what is asked. */
export const isAwaited = (asking: Asking, nodeClass: EC2NodeClass): boolean =>
  isExternal(asking) && mismatches(asking.target, classOptions(nodeClass)).length > 0;

/** What is waited for: the class, what it says, what is asked, and who has to render it. */
export function awaitedOf(target: Options, nodeClass: EC2NodeClass): string {
  const differing = mismatches(target, classOptions(nodeClass));
  const managers = managersOf(nodeClass, differing).join(' and ');
  return (
    `EC2NodeClass ${nodeClass.metadata.name} says ${inWords(pick(classOptions(nodeClass), differing))}, asked is ` +
    `${inWords(pick(target, differing))}: imds_rollout_class_writer is "external", so ` +
    `${managers === '' ? 'whoever renders the class' : `its writer (field manager ${managers})`} has to render it`
  );
}

/** Why values that Karpenter cannot launch with are not taken back, and what is to be done. */
export const leftToWriter = (why: string, prior: Options): string =>
  `${why}; imds_rollout_class_writer is "external", so nothing is taken back: solve it, or render ${inWords(prior)} again`;

/**
 * What the record is to remember of a class that we never write: since when its writer is waited for, or that the
 * class has come to say what is asked. That is its patch then, from which Karpenter's progress and the deadline count.
 */
export function noticed(
  record: RolloutRecord,
  target: Options,
  nodeClass: EC2NodeClass,
  now: string,
): RolloutRecord {
  const { awaitedSince, hashBefore, ...rest } = record;
  if (mismatches(target, classOptions(nodeClass)).length === 0) {
    return {
      ...rest,
      ...(hashBefore !== undefined && { hashBefore }),
      patchedAt: record.patchedAt ?? now,
      ...(awaitedSince !== undefined && { lastPatchAt: now }),
    };
  }
  const hash = nodeClass.metadata.annotations?.[NODECLASS_HASH];
  return {
    ...rest,
    awaitedSince: awaitedSince ?? now,
    prior: record.prior ?? classOptions(nodeClass),
    ...(hash !== undefined && { hashBefore: hash }),
  };
}

/** Whether what a rollout waited for in vain has come since: the class says what was asked of its writer. */
export const hasCome = (
  { awaitedSince, generation }: RolloutRecord,
  asking: Asking & { generation: string },
  nodeClass: EC2NodeClass,
): boolean =>
  isExternal(asking) &&
  awaitedSince !== undefined &&
  generation === asking.generation &&
  !isAwaited(asking, nodeClass);
