/**
 * Karpenter's provisioner: pods that fit nowhere are collected for 1 s to 10 s, then get room on existing nodes or
 * new NodeClaims. Source: karpenter pkg/controllers/provisioning.
 */
import type { NodePool } from '../../rollout/kubernetes.ts';
import { isTrue } from './conditions.ts';
import { nominate, type Karpenter } from './karpenter.ts';
import { disruptedTaint, sameTaint } from './names.ts';
import { pendingPods, place, podsOfDeletingNodes } from './placement.ts';
import { isProvisionable } from './pods.ts';
import { now } from './types.ts';

const batchIdleMs = 1_000;
const batchMaxMs = 10_000;
/** Pods and nodes that still need room trigger again after so long. */
const triggerAgainMs = 10_000;

export function createProvisioner(
  karpenter: Karpenter,
  createClaim: (pool: NodePool) => string | undefined,
): void {
  const { world, process, events } = karpenter;
  const { store } = world;
  /** An open batch: when it began, and which close of it is the last planned. */
  let batch: { since: number; close: number } | undefined;
  let closes = 0;
  let again = false;

  function trigger(): void {
    const at = now(world);
    if (batch !== undefined && at - batch.since + batchIdleMs > batchMaxMs) return;
    closes += 1;
    batch = { since: batch?.since ?? at, close: closes };
    const { close } = batch;
    process.after(batchIdleMs, () => {
      if (batch?.close !== close) return;
      batch = undefined;
      provision();
    });
  }

  function triggerLater(): void {
    if (again) return;
    again = true;
    process.after(triggerAgainMs, () => {
      again = false;
      if (pendingPods(karpenter).length > 0 || isDraining()) trigger();
    });
  }

  function isDraining(): boolean {
    for (const claim of store.all('NodeClaim')) {
      if (claim.metadata.deletionTimestamp === undefined && !karpenter.marked.has(claim.metadata.name))
        continue;
      const node = store.nodeOf(claim);
      if (node?.spec.taints?.some((taint) => sameTaint(taint, disruptedTaint)) === true) return true;
    }
    return false;
  }

  function provision(): void {
    triggerLater();
    const pods = [...pendingPods(karpenter), ...podsOfDeletingNodes(karpenter)];
    if (pods.length === 0) return;
    const placement = place(karpenter, pods, new Set());
    if (placement === undefined) return;
    for (const [pod, why] of placement.errors) {
      // Room on a node that is still coming up is room.
      if (why.startsWith('would schedule against')) continue;
      events.publish({
        type: 'Warning',
        reason: 'FailedScheduling',
        message: `Failed to schedule pod, ${why}`,
        about: pod,
        dedupeMs: 5 * 60_000,
      });
    }
    for (const { claim, pods: placed } of placement.used) {
      nominate(karpenter, claim);
      const node = store.nodeOf(claim);
      const where = `nodeclaim/${claim.metadata.name}${node === undefined ? '' : `, node/${node.metadata.name}`}`;
      for (const pod of placed) {
        events.publish({
          type: 'Normal',
          reason: 'Nominated',
          message: `Pod should schedule on: ${where}`,
          about: pod,
        });
      }
    }
    for (const { pool, pods: placed } of placement.created) {
      const name = createClaim(pool);
      if (name === undefined) continue;
      for (const pod of placed) {
        events.publish({
          type: 'Normal',
          reason: 'Nominated',
          message: `Pod should schedule on: nodeclaim/${name}`,
          about: pod,
        });
      }
    }
  }

  store.watch('Pod', ({ before, after }) => {
    if (after === undefined || !isProvisionable(after) || (before !== undefined && isProvisionable(before)))
      return;
    trigger();
    triggerLater();
  });
  store.watch('Node', ({ before, after }) => {
    const tainted = after?.spec.taints?.some((taint) => sameTaint(taint, disruptedTaint)) === true;
    if (!tainted || before?.spec.taints === after.spec.taints) return;
    trigger();
    triggerLater();
  });
  // A pool that becomes Ready is looked at with the next trigger of the pods that wait.
  store.watch('NodePool', ({ before, after }) => {
    if (after !== undefined && isTrue(after, 'Ready') && !(before !== undefined && isTrue(before, 'Ready')))
      triggerLater();
  });
  process.onStop(() => {
    batch = undefined;
    again = false;
  });
  process.onStart(() => {
    process.after(3_000, () => {
      trigger();
      triggerLater();
    });
  });
}
