/**
 * 8. Twice equals once: a task that is run again with the same input right after it ended writes nothing to the
 * cluster or to EC2. The run replays; one that said it is not finished is called again anyway and is not judged.
 */
import type { AuditEntry } from '../parts.ts';
import { changes } from './facts.ts';
import type { Violation } from './truth.ts';

export interface Replay {
  function: string;
  execution: string;
  /** Runs the handler once more, with the same input and caller, at the same virtual moment. */
  again: () => Promise<unknown>;
}

/** What the second run wrote. A failed second run writes nothing and is no violation. */
export async function replay(
  world: { now(): Date; readonly audit: readonly AuditEntry[] },
  { function: name, execution, again }: Replay,
): Promise<Violation[]> {
  const before = world.audit.length;
  await again().catch(() => undefined);
  const at = world.now().toISOString();
  return world.audit
    .slice(before)
    .filter(
      (entry) => entry.caller.function === name && entry.caller.execution === execution && changes(entry),
    )
    .map((entry) => ({
      invariant: '8 twice-equals-once',
      at,
      what: `${name} of ${execution}, run twice, wrote ${entry.target ?? ''} again (${entry.api})`,
    }));
}
