/** The one door of every port: faults, latency, counts and the audit (see parts.ts). */
import { apiError, codeOf, isThrottle } from './api-errors.ts';
import type { RunningClock } from './clock.ts';
import { currentInvocation } from './invocation.ts';
import { faultHits } from '../scenario/names.ts';
import type { AuditEntry, Caller, Chance, Gate } from '../parts.ts';

/** One fault of the scenario; `from` and `until` in milliseconds since the start. */
export interface Fault {
  /** An API as in the audit, or a whole service (`kubernetes:*`). */
  api: string;
  error: string | null;
  latency: number;
  from: number;
  /** null: to the end. */
  until: number | null;
  /** The share of calls that it hits. */
  share: number;
}

interface CallCounts {
  calls: number;
  throttled: number;
  errors: number;
}

export interface SimulatedGate extends Gate {
  /** Every call of the service as it happened, oldest first. */
  audit: readonly AuditEntry[];
  /** By API, in the order of the first call. */
  calls: ReadonlyMap<string, CallCounts>;
  onAudit(listener: (entry: AuditEntry) => void): void;
  /** Notes what a person or a neighbour did, which passes no fault and is not counted. */
  note(entry: Omit<AuditEntry, 'at'>): void;
  /** Milliseconds since the epoch of the last write that took effect, whoever made it. */
  changedAt(): number;
}

const person: Caller = { function: 'person' };
/** Errors after which nobody knows whether the call took effect. */
const afterTheEffect = new Set(['TimeoutError']);

export function createGate(options: {
  clock: RunningClock;
  chance: Chance;
  faults: readonly Fault[];
}): SimulatedGate {
  const { clock, chance, faults } = options;
  const start = clock.now().getTime();
  const audit: AuditEntry[] = [];
  const calls = new Map<string, CallCounts>();
  const listeners: ((entry: AuditEntry) => void)[] = [];
  let changedAt = start;

  const write = (entry: AuditEntry): void => {
    if (entry.write && entry.error === undefined) changedAt = entry.at.getTime();
    audit.push(entry);
    for (const listener of listeners) listener(entry);
  };

  const countsOf = (api: string): CallCounts => {
    let counts = calls.get(api);
    if (!counts) {
      counts = { calls: 0, throttled: 0, errors: 0 };
      calls.set(api, counts);
    }
    return counts;
  };

  /** The faults that hit this very call; chance is drawn only where a fault is active, so that runs without differ in nothing. */
  const hitting = (api: string): Fault[] => {
    const at = clock.now().getTime() - start;
    return faults.filter(
      (fault) =>
        faultHits(fault.api, api) &&
        at >= fault.from &&
        at < (fault.until ?? Number.POSITIVE_INFINITY) &&
        (fault.share >= 1 || chance.next() < fault.share),
    );
  };

  return {
    audit,
    calls,
    changedAt: () => changedAt,
    onAudit(listener) {
      listeners.push(listener);
    },
    note(entry) {
      write({ ...entry, at: clock.now() });
    },
    async call<T>(
      what: { api: string; write?: boolean; target?: string; body?: unknown },
      run: () => T,
    ): Promise<T> {
      const invocation = currentInvocation();
      if (invocation?.ended) throw invocation.ended;
      const counts = countsOf(what.api);
      const hits = hitting(what.api);
      const latency = hits.reduce((sum, fault) => sum + fault.latency, 0);
      if (latency > 0) {
        await clock.sleep(latency);
        // Killed while it waited: the request was never seen through.
        if (invocation?.ended) throw invocation.ended;
      }
      counts.calls += 1;
      const entry: AuditEntry = {
        ...what,
        write: what.write ?? false,
        at: clock.now(),
        caller: invocation?.caller ?? person,
      };
      const failed = (error: unknown): void => {
        entry.error = codeOf(error);
        if (isThrottle(entry.error)) counts.throttled += 1;
        else counts.errors += 1;
      };
      const code = hits.find((fault) => fault.error !== null)?.error;
      if (typeof code === 'string') {
        const error = apiError(code, `${what.api} failed by a fault of the scenario`);
        failed(error);
        const tookEffect = entry.write && afterTheEffect.has(code) && chance.next() < 0.5 && succeeds(run);
        // What happened is audited: a write that took effect is one, whatever its caller was told.
        if (tookEffect) delete entry.error;
        write(entry);
        throw error;
      }
      try {
        const result = run();
        write(entry);
        return result;
      } catch (error) {
        failed(error);
        write(entry);
        throw error;
      }
    },
  };
}

function succeeds(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}
