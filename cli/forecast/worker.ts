/** A thread that plays: its clock is its own, so that connections of the command keep theirs. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { playHere } from './play.ts';

parentPort?.postMessage(await playHere(workerData as Scenario[]));
