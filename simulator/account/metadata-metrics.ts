/** CloudWatch's counts of the access to IMDS: what EC2 counted in the run, and what a scenario says was before. */
import type { MetadataMetrics } from '../../rollout/ports.ts';
import type { RunningClock } from './clock.ts';
import type { SimulatedGate } from './gate.ts';

export interface Counted {
  metric: 'MetadataNoToken' | 'MetadataNoTokenRejected';
  instanceId: string;
  at: Date;
  count: number;
}

export interface SimulatedMetrics {
  port: MetadataMetrics;
  count(counted: Counted): void;
}

/** A datapoint is of 5 minutes, and dated by their beginning (basic monitoring). */
const periodMs = 5 * 60_000;
/** On Nitro a datapoint is there after the first sample of its period, and grows: a sample is a minute. */
const sampleMs = 60_000;

export function createSimulatedMetrics(clock: RunningClock, gate: SimulatedGate): SimulatedMetrics {
  const counts: Counted[] = [];
  const datapointOf = (at: Date): number => Math.floor(at.getTime() / periodMs) * periodMs;
  return {
    count(counted) {
      counts.push(counted);
    },
    port: {
      sums: ({ metric, instanceIds, since, until }) =>
        gate.call({ api: 'cloudwatch:GetMetricData', target: metric }, () => {
          const now = clock.now().getTime();
          const sums = new Map<string, number>();
          for (const { metric: of, instanceId, at, count } of counts) {
            const isIn = datapointOf(at) >= datapointOf(since) && at < until;
            const isPublished = at.getTime() + sampleMs <= now;
            if (of !== metric || !instanceIds.includes(instanceId) || !isIn || !isPublished) continue;
            sums.set(instanceId, (sums.get(instanceId) ?? 0) + count);
          }
          return sums;
        }),
    },
  };
}
