/** As deployed: on the real neighbours. */
import { rolloutPorts } from '../../adapters/rollout-ports.ts';
import { parseEnvironment, rolloutEnvironment } from '../shared/environment.ts';
import { createHandler } from './create-handler.ts';

export const handler = createHandler(rolloutPorts(parseEnvironment(rolloutEnvironment, process.env)));
