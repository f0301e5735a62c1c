/**
 * Makes the deployed definition (plain Amazon States Language) run on aws-local-stepfunctions as Step Functions runs
 * it: placeholders filled as CloudFormation fills them, and evened out where the library is known to differ.
 */
import type { StateMachineDefinition } from 'aws-local-stepfunctions';
import { functionArn } from './names.ts';

/** Step Functions' default for a Task is 99,999,999 s; a timer takes 24 days at most, which no run reaches. */
const noTimeout = 2_147_483;

type State = Record<string, unknown> & { Type: string };

/** The definition as it is written, with `${PlanFunctionArn}` and the like still in it. */
export interface WrittenDefinition {
  StartAt: string;
  States: Record<string, State>;
  TimeoutSeconds?: number;
  [field: string]: unknown;
}

export function prepareDefinition(written: WrittenDefinition): StateMachineDefinition {
  const filled = JSON.parse(
    JSON.stringify(written).replaceAll(/\$\{([A-Za-z0-9]+)FunctionArn\}/g, (_whole, name: string) =>
      functionArn(kebab(name)),
    ),
  ) as WrittenDefinition;
  for (const [name, state] of Object.entries(filled.States)) {
    if (state['QueryLanguage'] === 'JSONata')
      throw new Error(`state ${name} is JSONata, which the library ignores`);
    // The library times a Task out after 60 s where the definition gives no time.
    if (state.Type === 'Task')
      state['TimeoutSeconds'] ??= state['TimeoutSecondsPath'] === undefined ? noTimeout : undefined;
    // "$" means the whole to Step Functions, and a key named "$" to the library.
    if (state['ResultPath'] === '$') delete state['ResultPath'];
    // Jitter would draw on Math.random, and no two runs would be the same.
    for (const retrier of asList(state['Retry'])) delete retrier['JitterStrategy'];
    for (const catcher of asList(state['Catch'])) {
      if (catcher['ResultPath'] === '$') delete catcher['ResultPath'];
    }
  }
  if ((filled.TimeoutSeconds ?? 0) > noTimeout) delete filled.TimeoutSeconds;
  return filled as unknown as StateMachineDefinition;
}

function asList(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
}

/** `HoldAndPatch` → `hold-and-patch`: the placeholder's name and the folder below functions/ are the same words. */
function kebab(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
