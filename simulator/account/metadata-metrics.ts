/** CloudWatch's counts of the access to IMDS: what EC2 counted in the run, and what a scenario says was before. */
import type { MetadataMetrics, Rejections } from '../../rollout/ports.ts';
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

/**
 * What CloudWatch has of an instance in whose period nothing was counted, which is not documented: `sparse` has
 * CPUUtilization alone, `zeros` a zero besides. `none`: nothing at all is published, whatever happens.
 */
export type Published = 'sparse' | 'zeros' | 'none';

/** When an instance ran, and whether a zero of its own is of the metric. */
export interface Measurable {
  launchedAt: Date;
  terminatedAt?: Date;
  instance: { instanceId: string; metadataOptions?: { httpTokens: 'optional' | 'required' } };
}

/** A datapoint is of 5 minutes, and dated by their beginning (basic monitoring). */
const periodMs = 5 * 60_000;
/** On Nitro a datapoint is there after the first sample of its period, and grows: a sample is a minute. */
const sampleMs = 60_000;

interface Span {
  since: Date;
  until: Date;
}

export function createSimulatedMetrics(
  { clock, gate, published }: { clock: RunningClock; gate: SimulatedGate; published: Published },
  machineOf: (instanceId: string) => Measurable | undefined,
): SimulatedMetrics {
  const counts: Counted[] = [];
  const datapointOf = (at: Date): number => Math.floor(at.getTime() / periodMs) * periodMs;

  const countedOf = (metric: Counted['metric'], instanceId: string, { since, until }: Span): Counted[] =>
    published === 'none'
      ? []
      : counts.filter(
          ({ metric: of, instanceId: id, at }) =>
            of === metric &&
            id === instanceId &&
            datapointOf(at) >= datapointOf(since) &&
            at < until &&
            at.getTime() + sampleMs <= clock.now().getTime(),
        );

  /** Beginnings of the periods of which there is a sample of CPUUtilization. */
  const ranIn = (instanceId: string, { since, until }: Span): number[] => {
    const machine = machineOf(instanceId);
    if (published === 'none' || machine === undefined) return [];
    const first = Math.max(datapointOf(since), datapointOf(machine.launchedAt));
    const last = Math.min(
      until.getTime(),
      clock.now().getTime(),
      machine.terminatedAt?.getTime() ?? Infinity,
    );
    const periods: number[] = [];
    for (let at = first; at + sampleMs <= last; at += periodMs) periods.push(at);
    return periods;
  };

  const isZero = (metric: Counted['metric'], instanceId: string, span: Span): boolean => {
    const tokens = machineOf(instanceId)?.instance.metadataOptions?.httpTokens;
    const isOfMetric = (tokens === 'required') === (metric === 'MetadataNoTokenRejected');
    return published === 'zeros' && isOfMetric && ranIn(instanceId, span).length > 0;
  };

  return {
    count(counted) {
      counts.push(counted);
    },
    port: {
      sums: ({ metric, instanceIds, ...span }) =>
        gate.call({ api: 'cloudwatch:GetMetricData', target: metric }, () => {
          const sums = new Map<string, number>();
          for (const id of instanceIds) {
            const counted = countedOf(metric, id, span);
            if (counted.length > 0 || isZero(metric, id, span)) sums.set(id, total(counted));
          }
          return sums;
        }),
      rejections: ({ instanceIds, ...span }) =>
        gate.call({ api: 'cloudwatch:GetMetricData', target: 'MetadataNoTokenRejected' }, () => {
          const found = new Map<string, Rejections>();
          for (const id of instanceIds) {
            const counted = countedOf('MetadataNoTokenRejected', id, span);
            const measured = new Set([...ranIn(id, span), ...counted.map(({ at }) => datapointOf(at))]);
            const periods = [...measured].sort((a, b) => a - b).map((at) => new Date(at));
            if (periods.length > 0) found.set(id, { count: total(counted), measured: periods });
          }
          return found;
        }),
    },
  };
}

const total = (counted: readonly Counted[]): number => counted.reduce((sum, { count }) => sum + count, 0);
