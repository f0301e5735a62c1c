/** The schedule: visits the racks that are due. One rack that fails does not keep the others from their visit. */
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import pMap from 'p-map';
import type { Registration } from '../../rollout/ports.ts';
import { RolloutError } from '../../rollout/errors.ts';
import { racksDue, reconcileRack, type ReconcilePorts, type Visit } from '../../rollout/reconcile.ts';
import { instrument } from '../shared/instrument.ts';
import { addMeasured } from '../shared/measure.ts';

/** Racks at the same time, so that one whose cluster does not answer takes the others' time only in part. */
const AT_ONCE = 5;

export function createHandler(ports: ReconcilePorts) {
  /** When the visits before this one ended; not known to a function that has just been started. */
  let visitedAt: Date | undefined;
  return instrument('reconcile', async (_event, { logger, metrics }) => {
    const visits: Visit[] = [];
    const failures: { rack: string; error: unknown }[] = [];
    const visitRack = async (registration: Registration): Promise<void> => {
      try {
        const visit = await reconcileRack(ports, registration);
        visits.push(visit);
        logger.info('visited', { ...visit });
        addMeasured(metrics, visit.rack, visit.measured, ports.clock.now());
        // At once: the next rack's are under a dimension of their own.
        if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
        metrics.clearDimensions();
      } catch (error) {
        failures.push({ rack: registration.rack, error });
      }
    };
    await pMap(await racksDue(ports), visitRack, { concurrency: AT_ONCE });
    const now = ports.clock.now();
    metrics.addMetric('RacksVisited', MetricUnit.Count, visits.length);
    if (visitedAt !== undefined) {
      metrics.addMetric(
        'ReconcileAgeSeconds',
        MetricUnit.Seconds,
        (now.getTime() - visitedAt.getTime()) / 1000,
      );
    }
    visitedAt = now;
    if (failures.length === 0) return { visits };
    const racks = failures.map(
      ({ rack, error }) => `${rack} (${error instanceof Error ? error.message : String(error)})`,
    );
    throw new RolloutError(`could not reconcile ${racks.join(', ')}`, { cause: failures[0]?.error });
  });
}
