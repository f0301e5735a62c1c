/** Plays the tasks of the workflow one after the other, as far as a test wants to go. */
import type { Rolling, State } from '../../rollout/state.ts';
import type { Rack } from './rack.ts';

/** The functions, and what comes next by another name than its function's. */
export type Task =
  Exclude<Rolling['next'], 'modify-canary' | 'put-canary-back'> | 'plan' | 'approve' | 'observe' | 'conclude';

/** The function behind what comes next. */
function taskOf({ next }: State): Exclude<Task, 'look'> {
  if (next === 'look') return 'observe';
  if (next === 'modify-canary' || next === 'put-canary-back' || next === 'put-back-and-end')
    return 'modify-stragglers';
  return next === 'await-approval' || next === 'end-wait' ? 'approve' : next;
}

/** Runs what comes next again and again, as the workflow does, until it is what the test waits for. */
export async function until(rack: Rack, start: State, isThere: (state: State) => boolean): Promise<State> {
  let state = start;
  for (let steps = 0; !isThere(state); steps += 1) {
    if (steps > 500) throw new Error(`after ${steps} steps it is still ${JSON.stringify(state)}`);
    if ('lookAgainIn' in state) await rack.pass(state.lookAgainIn);
    state = await rack.task(taskOf(state), state);
  }
  return state;
}

export const plan = (rack: Rack): Promise<State> => rack.task('plan', { rack: 'demo' });
