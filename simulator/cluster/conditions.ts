/** Status conditions as Karpenter's operatorpkg keeps them: the transition time moves only with the status. */
import type { Condition } from '../../rollout/kubernetes.ts';
import { stamp } from './names.ts';

interface WithConditions {
  status?: { conditions?: Condition[] };
}

export function conditionOf(object: WithConditions, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

export function isTrue(object: WithConditions, type: string): boolean {
  return conditionOf(object, type)?.status === 'True';
}

/** When the condition took its present status; 0 where it has none. */
export function transitionOf(object: WithConditions, type: string): number {
  const time = conditionOf(object, type)?.lastTransitionTime;
  return time === undefined ? 0 : Date.parse(time);
}

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** The conditions with one set; the same array where nothing changes. */
export function withCondition(
  conditions: Condition[] | undefined,
  wanted: NewCondition,
  now: Date,
): Condition[] {
  const before = conditions?.find((condition) => condition.type === wanted.type);
  if (before === undefined) return [...(conditions ?? []), { ...wanted, lastTransitionTime: stamp(now) }];
  const same =
    before.status === wanted.status &&
    before.reason === wanted.reason &&
    before.message === wanted.message &&
    before.observedGeneration === wanted.observedGeneration;
  if (same && conditions !== undefined) return conditions;
  const since = before.status === wanted.status ? before.lastTransitionTime : undefined;
  const after = { ...wanted, lastTransitionTime: since ?? stamp(now) };
  return (conditions ?? []).map((condition) => (condition === before ? after : condition));
}

/** The object with one condition set; the same object where nothing changes. */
export function setCondition<T extends WithConditions>(object: T, wanted: NewCondition, now: Date): T {
  const conditions = withCondition(object.status?.conditions, wanted, now);
  if (conditions === object.status?.conditions) return object;
  return { ...object, status: { ...object.status, conditions } };
}

/** The object without the condition; the same object where it has none. */
export function clearCondition<T extends WithConditions>(object: T, type: string): T {
  if (conditionOf(object, type) === undefined) return object;
  const conditions = (object.status?.conditions ?? []).filter((condition) => condition.type !== type);
  return { ...object, status: { ...object.status, conditions } };
}
