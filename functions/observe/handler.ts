/** As deployed: on the real neighbours. */
import { ec2Instances } from '../../adapters/instances.ts';
import { cloudWatchMetrics } from '../../adapters/metadata-metrics.ts';
import { rolloutPorts } from '../../adapters/rollout-ports.ts';
import { parseEnvironment, rolloutEnvironment } from '../shared/environment.ts';
import { createHandler } from './create-handler.ts';

const settings = parseEnvironment(rolloutEnvironment, process.env);
export const handler = createHandler({
  ...rolloutPorts(settings),
  instances: ec2Instances(),
  metrics: cloudWatchMetrics(),
});
