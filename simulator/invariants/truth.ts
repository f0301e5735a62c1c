/**
 * What invariants are judged by: the audit of every call, and the world as it is (not as the product says it is).
 * The run gives it; tests make it by hand.
 */
import type { Instance } from '../../rollout/ec2.ts';
import type { Kind, ObjectsByKind } from '../../rollout/kubernetes.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Outcome, RolloutRecord } from '../../rollout/record.ts';
import type { AuditEntry, BuildReport, EndedBy } from '../parts.ts';
import type { Scenario } from '../scenario/scenario.ts';

/** An execution as Step Functions has it; outcome and reason are null while it runs. */
export interface ObservedExecution {
  name: string;
  startedAt: string;
  endedAt: string | null;
  outcome: Outcome | null;
  reason: string | null;
}

export interface Truth {
  readonly scenario: Scenario;
  now(): Date;
  /** Grows at its end. */
  readonly audit: readonly AuditEntry[];
  /** The rack's parameters at this moment. */
  parameters(): readonly StoredParameter[];
  /** The rack's record as stored; undefined where none was written. */
  record(): RolloutRecord | undefined;
  /** Not those that have ended. */
  instances(): readonly Instance[];
  objects<K extends Kind>(kind: K): readonly ObjectsByKind[K][];
  /** The rack's executions by start. */
  executions(): readonly ObservedExecution[];
  builds(): readonly BuildReport[];
  /** Why a node's instance ended; undefined while it lives, or where it was none. */
  endOf(node: string): EndedBy | null | undefined;
}

/** A broken invariant by number and name, e.g. `3 no-build-lost`: `what` names the things concerned. */
export interface Violation {
  invariant: string;
  /** ISO 8601. */
  at: string;
  what: string;
}

/** One invariant as it is watched. Each method says in words what breaks it. */
export interface Rule {
  invariant: string;
  /** Every call, in order, right after it happened. */
  onCall?(entry: AuditEntry): string[];
  /** The world at some moment; often. */
  onLook?(): string[];
  atEnd?(): string[];
}
