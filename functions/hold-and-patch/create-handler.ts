/** Takes the Lease, protects every build node, then patches the class. */
import { holdAndPatchStep, type PatchPorts } from '../../rollout/hold-and-patch.ts';
import { createTask } from '../shared/task.ts';

export const createHandler = (ports: PatchPorts) =>
  createTask('hold-and-patch', ports, (state) => holdAndPatchStep(ports, state));
