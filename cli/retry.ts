/** Starts a rollout although the outcome of the last one was decided. */
import { executionsOf, SETTLE_SECONDS } from '../rollout/naming.ts';
import type { Ports } from '../rollout/ports.ts';
import type { Outcome } from '../rollout/record.ts';
import { NameTaken, startRollout } from '../rollout/start.ts';
import { newestOf } from './account/newest.ts';
import { CommandFailure } from './failure.ts';

export interface Retried {
  execution: string;
  /** How the last one ended; null where there was none. */
  after: Outcome | null;
}

/** Refuses where a rollout of the rack runs: it looks at everything again by itself. */
export async function retryRollout(
  ports: Pick<Ports, 'clock' | 'workflow' | 'records'>,
  rack: string,
): Promise<Retried> {
  const running = newestOf(executionsOf(rack, await ports.workflow.running()));
  if (running !== undefined) {
    throw new CommandFailure(
      `rollout ${running.name} of rack ${rack} is running: there is nothing to retry\nFollow it: imds-rollout watch -r ${rack}`,
    );
  }
  const { last } = await ports.records.read(rack);
  try {
    const { execution } = await startRollout(ports, rack);
    return { execution, after: last?.outcome ?? null };
  } catch (error) {
    if (!(error instanceof NameTaken)) throw error;
    throw new CommandFailure(`${error.message}\nTry again in ${String(SETTLE_SECONDS)} seconds`);
  }
}
