/** What a visit measured of a rack: for metrics, so that what nobody read is left out and never zero. */
import type { Fleet } from './fleet.ts';
import type { Execution } from './ports.ts';
import type { Options, RolloutRecord } from './record.ts';
import { lastPatchOf } from './record.ts';
import { verdictOf } from './table.ts';

export interface Measured {
  /** Nodes and unregistered NodeClaims with our hold. */
  held?: number;
  /** Since when the one of them has been held that has been held longest. */
  oldestHoldSince?: string;
  /** Instances; absent where nothing is asked that they could be judged by. */
  wrong?: number;
  unknown?: number;
  /** When the oldest execution that runs was started. */
  rolloutSince?: string;
}

/** Of a fleet as it was read; `released` are the names of nodes whose hold was lifted since. */
export function measureFleet(
  fleet: Fleet,
  target: Options | undefined,
  record: RolloutRecord,
  released: ReadonlySet<string> = new Set(),
): Measured {
  const held = fleet.nodes.filter(({ name, hold, leaving }) => hold && !leaving && !released.has(name));
  const [oldestHoldSince] = held.flatMap(({ hold }) => hold?.since ?? []).sort();
  const verdicts =
    target &&
    fleet.nodes
      .filter(({ instance }) => instance?.state !== 'shutting-down')
      .map((node) => verdictOf(node, target, lastPatchOf(record)));
  return {
    held: held.length,
    ...(oldestHoldSince !== undefined && { oldestHoldSince }),
    ...(verdicts && {
      wrong: verdicts.filter((verdict) => verdict === 'wrong').length,
      unknown: verdicts.filter((verdict) => verdict === 'unknown').length,
    }),
  };
}

export function measureRunning(running: readonly Execution[]): Measured {
  const [rolloutSince] = running.map(({ startedAt }) => startedAt).sort();
  return rolloutSince === undefined ? {} : { rolloutSince };
}
