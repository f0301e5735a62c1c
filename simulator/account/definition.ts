/**
 * Makes the deployed definition (plain Amazon States Language) run on aws-local-stepfunctions as Step Functions runs
 * it: placeholders filled as CloudFormation fills them, and evened out where the library is known to differ. Where it
 * cannot be evened out, a definition that stands on the difference is refused.
 */
import type { StateMachineDefinition } from 'aws-local-stepfunctions';
import { functionArn } from './names.ts';

/** Step Functions' default for a Task is 99,999,999 s; a timer takes 24 days at most, which no run reaches. */
const noTimeout = 2_147_483;

type Fields = Record<string, unknown>;
type State = Fields & { Type: string };

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
    refuseUnlike(name, state);
    evenOut(state);
  }
  if ((filled.TimeoutSeconds ?? 0) > noTimeout) delete filled.TimeoutSeconds;
  return filled as unknown as StateMachineDefinition;
}

function evenOut(state: State): void {
  // The library times a Task out after 60 s where the definition gives no time.
  if (state.Type === 'Task' && state['TimeoutSecondsPath'] === undefined)
    state['TimeoutSeconds'] ??= noTimeout;
  // "$" means the whole to Step Functions, and a key named "$" to the library.
  for (const part of [state, ...listOf(state['Catch'])]) {
    if (part['ResultPath'] === '$') delete part['ResultPath'];
  }
  if (state['Choices'] !== undefined) state['Choices'] = listOf(state['Choices']).map(positive);
}

/** `IsPresent: false` and its like never match in the library; `Not` does. */
function positive(rule: Fields): Fields {
  const { And, Or, Not, ...rest } = rule;
  if (And !== undefined) return { ...rest, And: listOf(And).map(positive) };
  if (Or !== undefined) return { ...rest, Or: listOf(Or).map(positive) };
  if (Not !== undefined) return { ...rest, Not: positive(Not as Fields) };
  const test = Object.keys(rest).find((key) => key.startsWith('Is') && rest[key] === false);
  if (test === undefined) return rest;
  const { Next, Variable } = rest;
  return { Not: { Variable, [test]: true }, ...(Next === undefined ? {} : { Next }) };
}

function refuseUnlike(name: string, state: State): void {
  if (state['QueryLanguage'] === 'JSONata') throw unlike(name, 'ignores JSONata');
  for (const field of ['ErrorPath', 'CausePath']) {
    const path = state[field];
    if (typeof path === 'string' && path.startsWith('States.'))
      throw unlike(name, `knows no function in ${field}`);
  }
  if ('Result' in state && !state['Result'])
    throw unlike(name, 'ignores a Result that is empty, zero, false or null');
  if (state.Type === 'Map' || state.Type === 'Parallel')
    throw unlike(name, 'runs its Tasks by state names of their own');
}

/** Whether a Task waits for its token to come back, and not only for its function. */
export const waitsForToken = ({ Resource }: Fields): boolean =>
  typeof Resource === 'string' && Resource.endsWith('.waitForTaskToken');

function unlike(name: string, what: string): Error {
  return new Error(`state ${name} cannot be simulated: aws-local-stepfunctions ${what}`);
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

/** `HoldAndPatch` → `hold-and-patch`: the placeholder's name and the folder below functions/ are the same words. */
function kebab(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
