import { expect, test } from 'vitest';
import type { WrittenDefinition } from '../../../simulator/account/definition.ts';
import { inWorld } from './world.ts';

/** A loop as the rollout has one: look, wait as long as the look says, look again, end as the outcome says. */
const loop: WrittenDefinition = {
  StartAt: 'Observe',
  TimeoutSeconds: 3_600,
  States: {
    Observe: {
      Type: 'Task',
      Resource: 'arn:aws:states:::lambda:invoke',
      Parameters: { FunctionName: '${ObserveFunctionArn}', 'Payload.$': '$' },
      ResultSelector: { 'now.$': '$.Payload' },
      OutputPath: '$.now',
      TimeoutSeconds: 150,
      Retry: [{ ErrorEquals: ['TransientError'], IntervalSeconds: 20, MaxAttempts: 2, BackoffRate: 1 }],
      Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'Broken' }],
      Next: 'Done?',
    },
    'Done?': {
      Type: 'Choice',
      Choices: [{ Variable: '$.lookAgainIn', NumericGreaterThan: 0, Next: 'Wait' }],
      Default: 'Outcome',
    },
    Wait: { Type: 'Wait', SecondsPath: '$.lookAgainIn', Next: 'Observe' },
    Outcome: {
      Type: 'Choice',
      Choices: [{ Variable: '$.outcome', StringEquals: 'Succeeded', Next: 'Succeeded' }],
      Default: 'Ended',
    },
    Succeeded: { Type: 'Succeed' },
    Ended: { Type: 'Fail', ErrorPath: '$.outcome', CausePath: '$.reason' },
    Broken: { Type: 'Fail', ErrorPath: '$.failure.Error', CausePath: '$.failure.Cause' },
  },
};

/** Answers in turn; the last one again and again. */
function answers(...list: (object | Error)[]): () => object {
  return () => {
    const answer = list.length > 1 ? list.shift() : list[0];
    if (answer instanceof Error) throw answer;
    return answer ?? {};
  };
}

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

const again = { lookAgainIn: 120 };
const succeeded = { lookAgainIn: 0, outcome: 'Succeeded', reason: 'all right', generation: 'abc' };

test('an execution runs its handlers and waits in virtual time', async () => {
  await inWorld(
    { definition: loop, functions: { observe: answers(again, again, succeeded) } },
    async ({ account, until }) => {
      await account.ports.workflow.start('demo-1', 'demo');
      await until(239_999);
      expect(account.stepFunctions.executions[0]).toMatchObject({ status: 'RUNNING', state: 'Wait' });
      await until(240_000);
      expect(account.stepFunctions.executions[0]).toMatchObject({
        name: 'demo-1',
        input: { rack: 'demo' },
        status: 'SUCCEEDED',
        endedAt: new Date('2026-03-02T09:04:00Z'),
        output: succeeded,
        payload: { generation: 'abc' },
        // Three looks of two states, two waits, the choice of the outcome and its end.
        transitions: 10,
        // Start and end; 5 for each of 3 Tasks; 2 for each of 3 + 2 + 1 Choices and Waits, and of the Succeed.
        historyEvents: 2 + 15 + 12 + 2,
        maxPayloadBytes: JSON.stringify(succeeded).length,
      });
    },
  );
});

test('a Fail state takes Error and Cause from the payload', async () => {
  const failed = { lookAgainIn: 0, outcome: 'Failed', reason: 'busy-3h is still wrong' };
  await inWorld({ definition: loop, functions: { observe: answers(failed) } }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(1);
    expect(account.stepFunctions.executions[0]).toMatchObject({
      status: 'FAILED',
      error: 'Failed',
      cause: 'busy-3h is still wrong',
      // Start, the Task, two Choices, Fail entered, end.
      historyEvents: 1 + 5 + 4 + 1 + 1,
    });
  });
});

test("a handler's error is retried by its name, and reaches Catch in Lambda's form", async () => {
  const throttled = named('TransientError', 'Rate exceeded');
  await inWorld(
    { definition: loop, functions: { observe: answers(throttled) } },
    async ({ account, gate, until }) => {
      await account.ports.workflow.start('demo-1', 'demo');
      await until(39_999);
      expect(account.stepFunctions.executions[0]?.status).toBe('RUNNING');
      await until(40_000);
      const execution = account.stepFunctions.executions[0];
      expect(execution).toMatchObject({
        status: 'FAILED',
        error: 'TransientError',
        // Observe, its two retries, and Broken.
        transitions: 4,
        // Start, entered, three tries of three events, exited by Catch, Broken entered, end.
        historyEvents: 1 + 1 + 9 + 1 + 1 + 1,
      });
      expect(JSON.parse(execution?.cause ?? '')).toMatchObject({
        errorType: 'TransientError',
        errorMessage: 'Rate exceeded',
        trace: expect.arrayContaining([expect.stringContaining('Rate exceeded')]) as unknown,
      });
      expect(gate.calls.get('states:StartExecution')?.calls).toBe(1);
    },
  );
});

test('the same name and input is one execution while it runs, and closed afterwards', async () => {
  await inWorld(
    { definition: loop, functions: { observe: answers(again, succeeded) } },
    async ({ account, until }) => {
      const { workflow } = account.ports;
      expect(await workflow.start('demo-1', 'demo')).toBe('started');
      expect(await workflow.start('demo-1', 'demo')).toBe('started');
      expect(await workflow.running()).toEqual([
        { name: 'demo-1', startedAt: '2026-03-02T09:00:00.000Z', status: 'RUNNING' },
      ]);
      expect(await workflow.start('demo-1', 'another')).toBe('closed');
      await until(120_000);
      expect(await workflow.start('demo-1', 'demo')).toBe('closed');
      expect(await workflow.running()).toEqual([]);
      expect(await workflow.describe('demo-1')).toMatchObject({ status: 'SUCCEEDED' });
      expect(await workflow.describe('demo-2')).toBeUndefined();
      expect(account.stepFunctions.executions).toHaveLength(1);
    },
  );
});

test.each(['rack/1', 'a'.repeat(81), ''])('the name %j is refused', async (name) => {
  await inWorld({ definition: loop }, async ({ account }) => {
    await expect(account.ports.workflow.start(name, 'demo')).rejects.toThrow('InvalidName');
  });
});

test('a stop by hand ends the execution, and the function in flight goes on', async () => {
  let written = false;
  const functions = {
    observe: async () => {
      await new Promise((resolve) => setTimeout(resolve, 30_000));
      written = true;
      return again;
    },
  };
  await inWorld({ definition: loop, functions }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(10_000);
    expect(account.stepFunctions.stop('demo-1', 'not today')).toBe(true);
    await until(10_001);
    expect(account.stepFunctions.executions[0]).toMatchObject({ status: 'ABORTED', cause: 'not today' });
    expect(written).toBe(false);
    await until(300_000);
    expect(written).toBe(true);
    expect(account.stepFunctions.executions[0]).toMatchObject({ transitions: 1 });
  });
});

test.each([
  ['a stop', 15_000],
  ['the time-out', 3_600_000],
])('after %s no retry starts anew', async (_what, at) => {
  let tries = 0;
  const functions = {
    observe: () => {
      tries += 1;
      throw named('TransientError', 'Rate exceeded');
    },
  };
  const definition = structuredClone(loop);
  Object.assign(definition.States['Observe'] ?? {}, {
    Retry: [{ ErrorEquals: ['TransientError'], IntervalSeconds: 10_000, MaxAttempts: 5, BackoffRate: 1 }],
  });
  await inWorld({ definition, functions }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(at);
    account.stepFunctions.stop('demo-1');
    await until(at + 1);
    expect(tries).toBe(1);
    expect(account.stepFunctions.executions[0]?.status).not.toBe('RUNNING');
  });
});

test("the definition's TimeoutSeconds ends the execution", async () => {
  await inWorld({ definition: loop, functions: { observe: answers(again) } }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(3_600_000);
    expect(account.stepFunctions.executions[0]).toMatchObject({
      status: 'TIMED_OUT',
      endedAt: new Date('2026-03-02T10:00:00Z'),
    });
  });
});

test('a history of 25,000 events ends the execution, which nothing can catch', async () => {
  const often = { lookAgainIn: 1 };
  await inWorld({ definition: loop, functions: { observe: answers(often) } }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    // Nine events a second: five of the Task, two of the Choice, two of the Wait.
    await until(2_770_000);
    expect(account.stepFunctions.executions[0]).toMatchObject({ status: 'RUNNING' });
    await until(2_785_000);
    expect(account.stepFunctions.executions[0]).toMatchObject({
      status: 'FAILED',
      cause: 'The execution reached the maximum number of history events (25000).',
    });
  });
});

test("a Task's result above 256 KiB ends the execution, even where the state throws it away", async () => {
  const definition = structuredClone(loop);
  Object.assign(definition.States['Observe'] ?? {}, {
    ResultSelector: undefined,
    OutputPath: undefined,
    ResultPath: null,
  });
  const huge = { names: 'x'.repeat(262_144) };
  await inWorld({ definition, functions: { observe: answers(huge) } }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(1);
    expect(account.stepFunctions.executions[0]).toMatchObject({ error: 'States.DataLimitExceeded' });
  });
});

test('a payload above 256 KiB ends the execution, past every Catch', async () => {
  const huge = { lookAgainIn: 0, outcome: 'Succeeded', names: 'x'.repeat(262_144) };
  await inWorld({ definition: loop, functions: { observe: answers(huge) } }, async ({ account, until }) => {
    await account.ports.workflow.start('demo-1', 'demo');
    await until(1);
    expect(account.stepFunctions.executions[0]).toMatchObject({
      status: 'FAILED',
      error: 'States.DataLimitExceeded',
    });
  });
});
