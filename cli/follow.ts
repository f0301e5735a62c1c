/** Follows a rollout of an account until it ends. */
import { TransientError } from '../rollout/errors.ts';
import { executionsOf, reportKey } from '../rollout/naming.ts';
import type { Execution, Ports } from '../rollout/ports.ts';
import type { Outcome } from '../rollout/record.ts';
import { newestOf } from './account/newest.ts';
import { CommandFailure } from './failure.ts';
import { parseReport } from './reports.ts';
import type { Scene } from './view/scene.ts';

export interface Ending {
  execution: string;
  /** null where it ended without one: it was stopped or crashed, and nobody has cleaned up after it yet. */
  outcome: Outcome | null;
  reason: string;
}

export interface FollowOptions {
  ports: Pick<Ports, 'workflow' | 'records' | 'reports' | 'clock'>;
  rack: string;
  execution?: string;
  scene: () => Promise<Scene>;
  show: (scene: Scene) => void;
  /** For what is said besides scenes. */
  note: (text: string) => void;
  wait: () => Promise<void>;
}

/** An execution that was superseded hands over to its successor, which is followed in its place. */
export async function follow(options: FollowOptions): Promise<Ending> {
  const { ports, rack, note, wait } = options;
  let execution = options.execution ?? (await newest(ports, rack))?.name;
  if (execution === undefined) return lastEnding(ports, rack);
  note(`following ${execution}`);
  for (;;) {
    const now = await ports.workflow.describe(execution);
    if (now === undefined) throw new CommandFailure(`there is no execution ${execution}`);
    await look(options);
    if (now.status !== 'RUNNING') {
      const ending = await endingOf(ports, rack, now);
      const next = ending.outcome === 'Superseded' ? await newest(ports, rack) : undefined;
      if (next === undefined || next.name === execution) return ending;
      execution = next.name;
      note(`superseded; following ${execution}`);
    }
    await wait();
  }
}

/** One look that fails for a moment is no reason to stop looking. */
async function look({ scene, show, note }: FollowOptions): Promise<void> {
  try {
    show(await scene());
  } catch (error) {
    if (!(error instanceof TransientError)) throw error;
    note(`could not look: ${error.message}`);
  }
}

const newest = async ({ workflow }: Pick<Ports, 'workflow'>, rack: string): Promise<Execution | undefined> =>
  newestOf(executionsOf(rack, await workflow.running()));

async function lastEnding({ records }: Pick<Ports, 'records'>, rack: string): Promise<Ending> {
  const { last } = await records.read(rack);
  if (last === undefined) {
    throw new CommandFailure(
      `no rollout of rack ${rack} is running, and none was\nStart one by setting a parameter: imds-rollout params set`,
    );
  }
  return { execution: last.execution, outcome: last.outcome, reason: last.reason };
}

/** From the record; of what the record does not keep (`Superseded`), from the report. */
async function endingOf(
  { records, reports }: Pick<Ports, 'records' | 'reports'>,
  rack: string,
  { name, startedAt, status }: Execution,
): Promise<Ending> {
  const { last } = await records.read(rack);
  if (last?.execution === name) return { execution: name, outcome: last.outcome, reason: last.reason };
  const key = `${reportKey(rack, name, startedAt)}.json`;
  const body = await reports.get(key);
  if (body !== undefined) {
    const { outcome, reason } = parseReport(key, body);
    return { execution: name, outcome, reason };
  }
  return {
    execution: name,
    outcome: null,
    reason: `the execution ended ${status} without an outcome; reconcile cleans up after it within minutes`,
  };
}
