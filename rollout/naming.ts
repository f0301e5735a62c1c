/** Names: of executions, of the Lease, of our annotations. */
import { createHash } from 'node:crypto';
import type { Execution } from './ports.ts';

export const HOLD_ANNOTATION = 'imds-rollout/hold';
/** On a node: that it is a canary, and what its instance's options were before. */
export const CANARY_ANNOTATION = 'imds-rollout/canary';
export const GENERATION_ANNOTATION = 'imds-rollout/generation';
export const ROLLOUT_ANNOTATION = 'imds-rollout/rollout';
/** On the Lease: when the holder's execution started, which orders the rollouts of a class. */
export const STARTED_ANNOTATION = 'imds-rollout/started-at';
export const FIELD_MANAGER = 'imds-rollout';

export const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';
/** On a node, from Karpenter: its NodeClaim's labels, annotations and taints have been copied to it. */
export const REGISTERED = 'karpenter.sh/registered';
export const NODECLASS_HASH = 'karpenter.k8s.aws/ec2nodeclass-hash';
export const NODECLASS_HASH_VERSION = 'karpenter.k8s.aws/ec2nodeclass-hash-version';

export const leaseName = (nodeClass: string): string => `imds-rollout-${nodeClass}`;

/** How long a rollout settles before it reads, and how long one name lasts: one breath is one execution. */
export const SETTLE_SECONDS = 30;

/** A rack's part of its executions' names: itself where Step Functions takes it so, else cleaned and hashed. */
export function slug(rack: string): string {
  if (/^[0-9A-Za-z_-]{1,40}$/.test(rack)) return rack;
  const cleaned = rack.replaceAll(/[^0-9A-Za-z_-]/g, '-').slice(0, 31);
  return `${cleaned}-${createHash('sha256').update(rack).digest('hex').slice(0, 8)}`;
}

/** Doubled events within one bucket are one execution; what comes while it settles is read by it. */
export const executionName = (rack: string, now: Date): string =>
  `${slug(rack)}-${String(Math.floor(now.getTime() / (SETTLE_SECONDS * 1000)))}`;

/** The executions of one rack: its slug, a dash, the bucket and nothing more. */
export function executionsOf(rack: string, executions: readonly Execution[]): Execution[] {
  return executions.filter(({ name }) => isOfRack(rack, name));
}

/** Whether an execution of this name is one of the rack's. */
export function isOfRack(rack: string, execution: string): boolean {
  const prefix = `${slug(rack)}-`;
  return execution.startsWith(prefix) && /^\d+$/.test(execution.slice(prefix.length));
}

/** Where the report of an execution is kept, without an ending. */
export const reportKey = (rack: string, execution: string, startedAt: string): string =>
  `${rack}/${startedAt.slice(0, 10).replaceAll('-', '/')}/${execution}`;
