/** Starting rollouts: from a parameter's event, and for whoever finds that one is needed. */
import { executionName, executionsOf, SETTLE_SECONDS } from './naming.ts';
import { RolloutError } from './errors.ts';
import { isKey, POLICY_PREFIX } from './parameters.ts';
import type { Clock, Workflow } from './ports.ts';

/** The name of this 30 s was used by an execution that ended, e.g. one that was stopped by hand: a later try works. */
export class NameTaken extends RolloutError {
  override name = 'NameTaken';
}

export interface Started {
  kind: 'started' | 'settling';
  execution: string;
}

/**
 * Starts a rollout, unless one of the rack is settling, which reads the parameters later than now. Clocks may differ
 * by a few seconds, so the last ones of settling do not count; a bucket's own name makes up for it.
 */
export async function startRollout(
  ports: { clock: Clock; workflow: Workflow },
  rack: string,
): Promise<Started> {
  const now = ports.clock.now();
  const settling = executionsOf(rack, await ports.workflow.running()).find(
    ({ startedAt }) =>
      now.getTime() - new Date(startedAt).getTime() < (SETTLE_SECONDS - CLOCK_SKEW_SECONDS) * 1000,
  );
  if (settling !== undefined) return { kind: 'settling', execution: settling.name };
  const execution = executionName(rack, now);
  if ((await ports.workflow.start(execution, rack)) === 'closed') {
    throw new NameTaken(
      `execution ${execution} has ended already: its name is free again in at most ${String(SETTLE_SECONDS)} s`,
    );
  }
  return { kind: 'started', execution };
}

const CLOCK_SKEW_SECONDS = 5;

/** Rack and key of a parameter's name below the prefix; undefined where it is not a parameter of a rack. */
export function parameterOf(name: string, prefix: string): { rack: string; key: string } | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const [rack, key, ...deeper] = name.slice(prefix.length).split('/');
  return rack === undefined || rack === '' || key === undefined || deeper.length > 0
    ? undefined
    : { rack, key };
}

/** Whether a change of this parameter can change what a rollout does. */
export const matters = (key: string): boolean => isKey(key) || key.startsWith(POLICY_PREFIX);
