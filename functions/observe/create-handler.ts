/** One look: keeps the table and says what comes next. */
import { observeStep, type ObservePorts } from '../../rollout/observe.ts';
import { createTask } from '../shared/task.ts';

export const createHandler = (ports: ObservePorts) =>
  createTask('observe', ports, (state) => observeStep(ports, state));
