/** Puts the class's values of before back. */
import type { PatchPorts } from '../../rollout/hold-and-patch.ts';
import { takeBackStep } from '../../rollout/take-back.ts';
import { createTask } from '../shared/task.ts';

export const createHandler = (ports: PatchPorts) =>
  createTask('take-back', ports, (state) => takeBackStep(ports, state));
