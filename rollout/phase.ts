/** How far Karpenter is with the class: what may be lifted depends on it. Pure. */
import type { Condition, EC2NodeClass } from './kubernetes.ts';
import { driftReason, type Fleet } from './fleet.ts';
import { NODECLASS_HASH } from './naming.ts';
import { lastPatchOf, type RolloutRecord } from './record.ts';

/**
 * - `awaited`: somebody else writes the class, and it does not say yet what is asked.
 * - `behind`: Karpenter has not looked at the class's own generation; it may not be running.
 * - `notReady`: it has, and does not launch; since when, and why; `refused` where it says False, not merely Unknown.
 * - `settling`: Ready, but hash or drift still speak of the class before.
 * - `settled`: what the class, its hash and the Drifted conditions say belongs together.
 */
export type Phase =
  | { kind: 'awaited'; why: string }
  | { kind: 'behind'; why: string }
  | { kind: 'notReady'; why: string; since: Date; refused: boolean }
  | { kind: 'settling'; why: string }
  | { kind: 'settled' };

/**
 * How long a hash that did not change, or a Drifted that did not clear, is waited for. Both take seconds; Karpenter
 * looks at each object again within 5 minutes whatever happens, so twice that is not lateness but a fact.
 */
const SETTLING_LIMIT_MS = 10 * 60_000;

const readyOf = (nodeClass: EC2NodeClass): Condition | undefined =>
  nodeClass.status?.conditions?.find(({ type }) => type === 'Ready');

/** Whether Karpenter launches from the class as it is. */
export const isReady = (nodeClass: EC2NodeClass): boolean => {
  const ready = readyOf(nodeClass);
  const { generation } = nodeClass.metadata;
  return ready?.status === 'True' && (ready.observedGeneration ?? generation) === generation;
};

/** The conditions that keep a class from being Ready, in Karpenter's own words. */
function notReadyBecause(nodeClass: EC2NodeClass): string {
  const failing = (nodeClass.status?.conditions ?? []).filter(
    ({ type, status }) => type !== 'Ready' && status !== 'True',
  );
  const named = failing.length > 0 ? failing : [readyOf(nodeClass)].filter((each) => each !== undefined);
  return named
    .map(({ type, status, reason, message }) =>
      `${type}=${status} ${[reason, message].filter(Boolean).join(': ')}`.trim(),
    )
    .join('; ');
}

export function phaseOf(fleet: Pick<Fleet, 'nodeClass' | 'nodes'>, record: RolloutRecord, now: Date): Phase {
  const { nodeClass } = fleet;
  const { generation, name } = nodeClass.metadata;
  const ready = readyOf(nodeClass);
  if (ready === undefined || (ready.observedGeneration ?? generation) !== generation) {
    const seen =
      ready?.observedGeneration === undefined ? 'never' : `at generation ${String(ready.observedGeneration)}`;
    return {
      kind: 'behind',
      why: `Karpenter has looked at EC2NodeClass ${name} ${seen}, and it is at ${String(generation)}: Karpenter may not be running`,
    };
  }
  const patchedAt = new Date(
    Math.max(lastPatchOf(record)?.getTime() ?? 0, new Date(record.takingBack?.since ?? 0).getTime()),
  );
  if (ready.status !== 'True') {
    const turned = new Date(ready.lastTransitionTime ?? nodeClass.metadata.creationTimestamp);
    return {
      kind: 'notReady',
      why: `EC2NodeClass ${name} is not Ready: ${notReadyBecause(nodeClass)}`,
      since: turned > patchedAt ? turned : patchedAt,
      refused: ready.status === 'False',
    };
  }
  if (now.getTime() - patchedAt.getTime() > SETTLING_LIMIT_MS) return { kind: 'settled' };
  const hash = nodeClass.metadata.annotations?.[NODECLASS_HASH];
  if (record.hashBefore !== undefined && record.hashBefore === hash) {
    return { kind: 'settling', why: `the hash of EC2NodeClass ${name} is still that of before the patch` };
  }
  const late = fleet.nodes.filter(
    ({ claim, hash: state, drifted }) =>
      state === 'current' && drifted && claim && driftReason(claim) === 'NodeClassDrift',
  );
  return late.length > 0
    ? {
        kind: 'settling',
        why: `${late
          .map(({ name: node }) => node)
          .slice(0, 3)
          .join(', ')} still drifted from the class of before`,
      }
    : { kind: 'settled' };
}
