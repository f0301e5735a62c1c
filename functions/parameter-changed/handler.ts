/** As deployed: on the real neighbours. */
import { systemClock } from '../../adapters/clock.ts';
import { stepFunctionsWorkflow } from '../../adapters/workflow.ts';
import { parseEnvironment, starterEnvironment } from '../shared/environment.ts';
import { createHandler } from './create-handler.ts';

const { STATE_MACHINE_ARN } = parseEnvironment(starterEnvironment, process.env);
export const handler = createHandler(
  { clock: systemClock, workflow: stepFunctionsWorkflow(STATE_MACHINE_ARN) },
  process.env,
);
