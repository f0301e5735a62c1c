/** Starts a rollout although the outcome of the last one was decided. */
import { RolloutError } from './errors.ts';
import { executionsOf } from './naming.ts';
import type { Ports } from './ports.ts';
import type { Outcome } from './record.ts';
import { startRollout } from './start.ts';

/** Nothing is retried while a rollout of the rack runs: it looks at everything again by itself. */
export class StillRunning extends RolloutError {}

export interface Retried {
  execution: string;
  /** How the last one ended; null where there was none. */
  after: Outcome | null;
}

export async function retryRollout(
  ports: Pick<Ports, 'clock' | 'workflow' | 'records'>,
  rack: string,
): Promise<Retried> {
  const [running] = executionsOf(rack, await ports.workflow.running());
  if (running !== undefined) {
    throw new StillRunning(`rollout ${running.name} of rack ${rack} is running: there is nothing to retry`);
  }
  const { last } = await ports.records.read(rack);
  const { execution } = await startRollout(ports, rack);
  return { execution, after: last?.outcome ?? null };
}
