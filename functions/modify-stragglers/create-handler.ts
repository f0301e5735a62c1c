/** Modifies instances live, at EC2's pace: stragglers, the canary, and the canary back to what it was. */
import { z } from 'zod';
import { modifyCanaryStep } from '../../rollout/modify-canary.ts';
import { putBackAndEndStep, putCanaryBackStep } from '../../rollout/put-back.ts';
import {
  puttingBackSchema,
  rollingSchema,
  type Next,
  type PuttingBack,
  type Rolling,
} from '../../rollout/state.ts';
import { modifyStragglersStep, type StragglerPorts } from '../../rollout/stragglers.ts';
import { createTask } from '../shared/task.ts';

const states = z.discriminatedUnion('next', [rollingSchema, puttingBackSchema]);

export const createHandler = (ports: StragglerPorts) =>
  createTask('modify-stragglers', ports, (state) => stepOf(ports, state), states);

/** No other function may modify an instance, so everything that does is here. */
function stepOf(ports: StragglerPorts, state: Rolling | PuttingBack): Promise<Next> {
  switch (state.next) {
    case 'put-back-and-end':
      return putBackAndEndStep(ports, state);
    case 'put-canary-back':
      return putCanaryBackStep(ports, state);
    case 'modify-canary':
      return modifyCanaryStep(ports, state);
    default:
      return modifyStragglersStep(ports, state);
  }
}
