/** Metrics of a rack, from a look or a visit. What it did not find out is not there: never a zero that nobody counted. */
import { MetricUnit, type Metrics } from '@aws-lambda-powertools/metrics';
import type { Measured } from '../../rollout/measure.ts';

/** Seconds from then to now. */
export const secondsBetween = (then: string, now: Date): number =>
  (now.getTime() - new Date(then).getTime()) / 1000;

/** Adds them under the rack's own dimension. */
export function addMeasured(metrics: Metrics, rack: string, measured: Measured, now: Date): void {
  const { held, oldestHoldSince, wrong, unknown, rolloutSince } = measured;
  metrics.addDimension('rack', rack);
  if (rolloutSince !== undefined) {
    metrics.addMetric('RolloutAgeSeconds', MetricUnit.Seconds, secondsBetween(rolloutSince, now));
  }
  // That none is wrong is known only where none is unknown.
  if (wrong !== undefined && (wrong > 0 || unknown === 0)) {
    metrics.addMetric('NonCompliantInstances', MetricUnit.Count, wrong);
  }
  if (unknown !== undefined) metrics.addMetric('UnknownInstances', MetricUnit.Count, unknown);
  if (held !== undefined) metrics.addMetric('HeldNodes', MetricUnit.Count, held);
  if (oldestHoldSince !== undefined) {
    metrics.addMetric('OldestHoldSeconds', MetricUnit.Seconds, secondsBetween(oldestHoldSince, now));
  }
}
