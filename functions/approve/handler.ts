/** As deployed: on the real neighbours. */
import { approvePorts } from '../../adapters/approve-ports.ts';
import { approveEnvironment, parseEnvironment } from '../shared/environment.ts';
import { createHandler } from './create-handler.ts';

export const handler = createHandler(approvePorts(parseEnvironment(approveEnvironment, process.env)));
