/** What is remembered of a rollout that is over. Pure. */
import { owned, pick, type Option } from './options.ts';
import { datesOf } from './plan.ts';
import type { StoredParameter } from './ports.ts';
import { REASON_LENGTH, type Options, type RolloutRecord } from './record.ts';
import type { Concluding } from './state.ts';
import type { Tidied } from './tidy.ts';
import { LONGEST_FUNCTION_MS } from './turn.ts';

/** An approval ends with its purpose: once another one is asked for, or none, coming back to it needs a person again. */
const isStillApproved = ({ generation }: RolloutRecord, ending: Concluding): boolean =>
  ending.outcome !== 'Withdrawn' && (ending.generation === undefined || ending.generation === generation);

/** The options that are not given back. */
const without = (options: Options, given: readonly Option[]): Options =>
  pick(
    options,
    owned(options).filter((option) => !given.includes(option)),
  );

/** What there is to remember of an end. */
interface End {
  ending: Concluding;
  stored: readonly StoredParameter[];
  tidied: Tidied;
  report: { key: string; sha256: string };
  now: Date;
  /** Whether it may have written to the cluster. */
  touched: boolean;
  /** Whether no node carries the mark of a canary any more. */
  isCanaryOver: boolean;
  /** Hash of what the parameters are refused for by now. */
  refused?: string;
}

/** The record once a rollout is over: what is underway stays only where it may be taken up again. */
export function remembered(record: RolloutRecord, end: End): RolloutRecord {
  const { ending, stored, report, now, touched, isCanaryOver, refused } = end;
  // The record says that holds may exist from before the first one is placed.
  const { held, known = !record.holdsMayExist } = end.tidied;
  const { patchedAt, lastPatchAt, hashBefore, prior, awaitedSince, takingBack, baseline, approved, ...kept } =
    record;
  const { canary: marks, ...rest } = kept;
  const canary = isCanaryOver ? undefined : marks;
  const over = ending.outcome === 'Succeeded' || ending.outcome === 'RolledBack';
  const underway = {
    ...(patchedAt !== undefined && { patchedAt }),
    ...(lastPatchAt !== undefined && { lastPatchAt }),
    ...(hashBefore !== undefined && { hashBefore }),
    ...(prior !== undefined && { prior }),
    ...(awaitedSince !== undefined && { awaitedSince }),
    ...(takingBack !== undefined && { takingBack }),
  };
  const given: readonly Option[] = ending.outcome === 'Succeeded' ? (ending.restoring ?? []) : [];
  const outlived =
    record.takenOverAt !== undefined &&
    now.getTime() - new Date(record.takenOverAt).getTime() < LONGEST_FUNCTION_MS;
  return {
    ...rest,
    ...(!over && underway),
    ...(ending.outcome === 'Succeeded' && { reached: without(ending.target ?? {}, given) }),
    ...(approved !== undefined && isStillApproved(record, ending) && { approved }),
    baseline: without(baseline, given),
    // As long as a node may carry a mark, reconcile has to look.
    ...(canary !== undefined && { canary }),
    holdsMayExist: touched
      ? !known || held.length > 0 || outlived || canary !== undefined
      : record.holdsMayExist,
    last: {
      outcome: ending.outcome,
      reason: ending.reason.slice(0, REASON_LENGTH),
      execution: ending.execution,
      endedAt: now.toISOString(),
      ...(ending.generation !== undefined && { generation: ending.generation }),
      parameters: ending.parameters ?? datesOf(stored),
      report,
      ...(refused !== undefined && { refused }),
    },
  };
}
