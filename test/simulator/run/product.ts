/** Products of a few lines, for tests of what plays them. */
import type { Ports } from '../../../rollout/ports.ts';
import type { CreateHandler } from '../../../simulator/account/account.ts';
import type { RunResult } from '../../../simulator/run/result.ts';
import { runScenario, type RunOptions } from '../../../simulator/run/run.ts';
import type { Product } from '../../../simulator/run/world.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';

export type Act = (event: unknown, ports: Ports) => unknown;

/** An event starts an execution, which settles and then runs its one Task, `plan`. */
export function productOf(functions: Record<string, Act> = {}, settleSeconds = 30): Product {
  const all: Record<string, Act> = {
    'parameter-changed': async (_event, { workflow, clock }) =>
      workflow.start(`demo-${clock.now().getTime()}`, 'demo'),
    reconcile: () => ({}),
    'rollout-ended': () => ({}),
    plan: () => ({
      outcome: 'Succeeded',
      reason: 'nothing to it',
      generation: 'abc',
      compliantAt: new Date(),
    }),
    ...functions,
  };
  return {
    functions: Object.fromEntries(
      Object.entries(all).map(([name, act]): [string, CreateHandler] => [
        name,
        (ports) => async (event) => act(event, ports),
      ]),
    ),
    environment: {},
    definition: {
      StartAt: 'Settle',
      States: {
        Settle: { Type: 'Wait', Seconds: settleSeconds, Next: 'Plan' },
        Plan: {
          Type: 'Task',
          Resource: 'arn:aws:states:::lambda:invoke',
          Parameters: { FunctionName: '${PlanFunctionArn}', 'Payload.$': '$' },
          OutputPath: '$.Payload',
          Next: 'Succeeded?',
        },
        'Succeeded?': {
          Type: 'Choice',
          Choices: [{ Variable: '$.outcome', StringEquals: 'Succeeded', Next: 'Ended' }],
          Default: 'Ended badly',
        },
        Ended: { Type: 'Succeed' },
        'Ended badly': { Type: 'Fail', ErrorPath: '$.outcome', CausePath: '$.reason' },
      },
    },
  };
}

/** Nothing is ever broken. */
export const noInvariants = { check: () => [], atEnd: () => [] };

export async function run(
  scenario: string,
  options: RunOptions & { functions?: Record<string, Act> } = {},
): Promise<RunResult> {
  const { functions, ...rest } = options;
  return runScenario(loadScenario(scenario, 'test.yaml'), {
    invariants: () => noInvariants,
    product: productOf(functions),
    ...rest,
  });
}
