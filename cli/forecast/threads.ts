/** Plays on every core, each with a clock of its own. */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { RunResult } from '../../simulator/run/result.ts';
import type { PlayAll } from './play.ts';

export const playInThreads: PlayAll = async (scenarios) => {
  const threads = Math.min(availableParallelism(), scenarios.length);
  const shares = Array.from({ length: threads }, (_, thread) =>
    scenarios.filter((_scenario, index) => index % threads === thread),
  );
  const played = await Promise.all(
    shares.map(async (share) => {
      const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: share });
      // An error of the thread rejects.
      const [results] = (await once(worker, 'message')) as [RunResult[]];
      return results;
    }),
  );
  return scenarios.flatMap(
    (_scenario, index) => played[index % threads]?.[Math.floor(index / threads)] ?? [],
  );
};
