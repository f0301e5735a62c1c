/** Take back: a rollout in the other direction, to the class's exact values of before. */
import { holdAndPatchStep, type PatchPorts } from './hold-and-patch.ts';
import { owned, pick } from './options.ts';
import { conclude, type Next, type Rolling } from './state.ts';

/** Protects everything and patches the values of before. Live instances stay as they are: loosening needs approval. */
export async function takeBackStep(ports: PatchPorts, state: Rolling): Promise<Next> {
  const { prior } = await ports.records.read(state.rack);
  if (prior === undefined) {
    return conclude(
      state,
      'Failed',
      `${state.takingBack ?? 'taking back'}; the values of before are not on record`,
    );
  }
  return holdAndPatchStep(ports, { ...state, target: pick(prior, owned(state.target)) });
}
