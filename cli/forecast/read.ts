/** Reads a rack into a scenario: what `simulate --from-live` writes, and what a forecast plays. Reads only. */
import type { PlanReads, SharedPorts } from '../../rollout/ports.ts';
import { lookOnce, type Look } from '../plan/one-look.ts';
import { scenarioFrom, type FromLive } from './from-live.ts';
import { readLive, type Live, type NotRead } from './live.ts';
import { lengthExceededBy, priorOf, priorText, type Prior } from './prior.ts';
import { scenarioText } from './text.ts';

export interface ReadRack extends FromLive {
  live: Live;
  prior: Prior;
  /** As a file. */
  text: string;
}

export interface Asked {
  rack: string;
  ports: SharedPorts;
  reads: PlanReads;
}

/** The rack alone: what a rollout has to do with. */
export const readRackFor = (look: Look, rack: string): Promise<ReadRack | NotRead> =>
  readRackThrough(look, rack, { whole: false });

/** The rack with all that Karpenter runs in its cluster. */
export const readRack = ({ rack, ports, reads }: Asked): Promise<ReadRack | NotRead> =>
  readRackThrough(lookOnce(ports, reads), rack, { whole: true });

async function readRackThrough(
  look: Look,
  rack: string,
  scope: { whole: boolean },
): Promise<ReadRack | NotRead> {
  const live = await readLive(look, rack, scope);
  if ('missing' in live) return live;
  const prior = priorOf(live.finished ?? []);
  const read = scenarioFrom(live, (age) => lengthExceededBy(prior.buildLength, age, 0.5));
  return { ...read, live, prior, text: scenarioText(live, read, priorText(prior)) };
}
