import { expect, test } from 'vitest';
import { prepareDefinition } from '../../../simulator/account/definition.ts';
import { inWorld } from './world.ts';

test('placeholders become the ARNs of the functions of the same words', () => {
  const prepared = prepareDefinition({
    StartAt: 'Hold',
    States: {
      Hold: { Type: 'Task', Parameters: { FunctionName: '${HoldAndPatchFunctionArn}' }, End: true },
    },
  });
  expect(prepared.States['Hold']).toMatchObject({
    Parameters: {
      FunctionName: 'arn:aws:lambda:eu-west-1:123456789012:function:imds-rollout-hold-and-patch',
    },
    TimeoutSeconds: 2_147_483,
  });
});

test.each([
  ['IsPresent', '$.gone'],
  ['IsNull', '$.rack'],
])('%s: false matches, as in Step Functions', async (operator, variable) => {
  const definition = {
    StartAt: 'Ask',
    States: {
      Ask: {
        Type: 'Choice',
        Choices: [{ And: [{ Variable: variable, [operator]: false }], Next: 'Yes' }],
        Default: 'No',
      },
      Yes: { Type: 'Succeed' },
      No: { Type: 'Fail', Error: 'No' },
    },
  };
  await inWorld({ definition }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(1);
    expect(account.stepFunctions.executions[0]).toMatchObject({ status: 'SUCCEEDED' });
  });
});

test('a ResultPath of $ replaces the whole', async () => {
  const definition = {
    StartAt: 'Pass',
    States: { Pass: { Type: 'Pass', Result: { done: true }, ResultPath: '$', End: true } },
  };
  await inWorld({ definition }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(1);
    expect(account.stepFunctions.executions[0]).toMatchObject({ output: { done: true } });
  });
});

test.each([
  [{ Type: 'Fail', CausePath: "States.Format('{}', $.reason)" }, 'CausePath'],
  [{ Type: 'Pass', Result: false, End: true }, 'Result'],
  [{ Type: 'Map', End: true }, 'names'],
  [{ Type: 'Pass', QueryLanguage: 'JSONata', End: true }, 'JSONata'],
])('what cannot be simulated is refused by name', (state, what) => {
  expect(() => prepareDefinition({ StartAt: 'Odd', States: { Odd: state } })).toThrow(
    new RegExp(`state Odd cannot be simulated.*${what}`),
  );
});
