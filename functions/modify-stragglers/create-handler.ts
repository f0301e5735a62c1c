/** Modifies instances that are still wrong, live, at EC2's pace. */
import { modifyStragglersStep, type StragglerPorts } from '../../rollout/stragglers.ts';
import { createTask } from '../shared/task.ts';

export const createHandler = (ports: StragglerPorts) =>
  createTask('modify-stragglers', ports, (state) => modifyStragglersStep(ports, state));
