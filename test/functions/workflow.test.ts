/** The workflow's definition: what every state of it must have, whatever else changes. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as errors from '../../rollout/errors.ts';
import { outcomes } from '../../rollout/record.ts';
import { APPROVAL_SECONDS } from '../../rollout/approval.ts';
import { awaitingSchema, endWaitSchema, puttingBackSchema, rollingSchema } from '../../rollout/state.ts';
import { functionNames } from '../../simulator/scenario/names.ts';

interface Transition {
  Next: string;
  ErrorEquals?: string[];
  ResultPath?: string;
  IntervalSeconds?: number;
  MaxAttempts?: number;
  BackoffRate?: number;
}

interface Rule {
  Variable?: string;
  StringEquals?: string;
  Or?: Rule[];
  Next?: string;
}

interface State {
  Type: string;
  Next?: string;
  Default?: string;
  End?: boolean;
  Choices?: Rule[];
  Catch?: Transition[];
  Retry?: Transition[];
  TimeoutSeconds?: number;
  OutputPath?: string;
  Resource?: string;
  ResultPath?: string;
  Parameters?: { FunctionName: string; Payload: Record<string, string> };
  Error?: string;
  Cause?: string;
  ErrorPath?: string;
  CausePath?: string;
  SecondsPath?: string;
  Seconds?: number;
}

const definition = JSON.parse(readFileSync('statemachine/rollout.asl.json', 'utf8')) as {
  StartAt: string;
  TimeoutSeconds: number;
  States: Record<string, State>;
};
const states = Object.entries(definition.States);
const tasks = states.filter(([, { Type }]) => Type === 'Task');
/** Those that end with their function's answer, and do not wait for anybody else's. */
const answering = tasks.filter(([name]) => name !== 'Await approval');
const choices = states.filter(([, { Type }]) => Type === 'Choice');

/** A function's time-out, as serverless.yml gives it to all of them. */
const FUNCTION_SECONDS = Number(/^ {2}timeout: (\d+)$/m.exec(readFileSync('serverless.yml', 'utf8'))?.[1]);

const nextOf = (state: State): string[] =>
  [
    state.Next,
    state.Default,
    ...(state.Choices ?? []).map(({ Next }) => Next),
    ...(state.Catch ?? []).map(({ Next }) => Next),
  ].filter((name) => name !== undefined);

describe('every state', () => {
  it('leads to states that exist, and can be reached from the start', () => {
    const reached = new Set<string>();
    const visit = (name: string): void => {
      if (reached.has(name)) return;
      reached.add(name);
      const state = definition.States[name];
      if (state === undefined) throw new Error(`there is no state ${name}`);
      for (const next of nextOf(state)) visit(next);
    };
    visit(definition.StartAt);
    expect([...reached].sort()).toEqual(states.map(([name]) => name).sort());
  });

  it.each(states)('%s: goes on or ends', (_, state) => {
    expect(nextOf(state).length > 0).toBe(state.Type !== 'Succeed' && state.Type !== 'Fail');
  });
});

describe('every task', () => {
  it('is one of the functions, each once', () => {
    const kebab = (name: string): string =>
      name.replaceAll(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : '-'}${letter.toLowerCase()}`);
    const names = tasks.map(([, { Parameters }]) =>
      kebab(/^\$\{(\w+)FunctionArn\}$/.exec(Parameters?.FunctionName ?? '')?.[1] ?? ''),
    );
    const notTasks = ['parameter-changed', 'reconcile', 'rollout-ended'];
    const known = functionNames.filter((name) => !notTasks.includes(name));
    // It asks, and it ends the wait of who asked before. All that EC2 is asked to modify, one function asks it.
    const again = ['approve', 'modify-stragglers', 'modify-stragglers'];
    expect(names.sort()).toEqual([...known, ...again].sort());
  });

  it.each(tasks)('%s: is given more time than its function has', (_, { TimeoutSeconds = 0 }) => {
    expect(FUNCTION_SECONDS).toBe(120);
    expect(TimeoutSeconds).toBeGreaterThan(FUNCTION_SECONDS);
  });

  const payload = {
    'execution.$': '$$.Execution.Name',
    'startedAt.$': '$$.Execution.StartTime',
    'state.$': '$',
  };

  it.each(answering)(
    '%s: gets the execution’s name and start and the whole state, and answers with a state',
    (_, task) => {
      expect(task.Parameters?.Payload).toEqual(payload);
      expect(task.OutputPath).toBe('$.Payload');
    },
  );

  it('Await approval hands its token on as well, and puts what comes back beside the state, for Plan', () => {
    const wait = definition.States['Await approval'];
    expect(wait).toMatchObject({
      Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
      Parameters: { Payload: { ...payload, 'token.$': '$$.Task.Token' } },
      ResultPath: '$.decided',
      Next: 'Plan',
    });
    expect(wait?.OutputPath).toBeUndefined();
    expect(wait?.TimeoutSeconds).toBe(APPROVAL_SECONDS);
  });

  it.each(tasks)('%s: catches whatever is left, beside the state, and concludes', (name, { Catch = [] }) => {
    expect(Catch).toHaveLength(1);
    const next = name === 'Conclude' ? 'Not concluded' : 'Conclude';
    expect(Catch).toEqual([{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next: next }]);
    expect(definition.States[next]?.Type).toBe(name === 'Conclude' ? 'Fail' : 'Task');
  });
});

describe('retries', () => {
  const ours = new Set(
    Object.values(errors).map((kind) => {
      const error: Error = new kind('x');
      return error.name;
    }),
  );
  /** What Step Functions and Lambda call their own: developer guide, "Handling errors" and "Lambda service exceptions". */
  const theirs = new Set([
    'States.Timeout',
    'States.TaskFailed',
    'Lambda.TooManyRequestsException',
    'Lambda.ServiceException',
    'Lambda.AWSLambdaException',
    'Lambda.SdkClientException',
    'Lambda.ClientExecutionTimeoutException',
    'Lambda.Unknown',
    'Runtime.ExitError',
    'Sandbox.Timedout',
  ]);

  it.each(tasks)('%s: by names that somebody throws, each once', (_, { Retry = [] }) => {
    const names = Retry.flatMap(({ ErrorEquals = [] }) => ErrorEquals);
    expect(names.filter((name) => !ours.has(name) && !theirs.has(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['TransientError', 'ConflictError', 'Sandbox.Timedout']));
  });

  it.each(tasks)('%s: of what ran out of time, except where that is an answer', (name, { Retry = [] }) => {
    const names = Retry.flatMap(({ ErrorEquals = [] }) => ErrorEquals);
    expect(names.includes('States.Timeout')).toBe(name !== 'Await approval');
  });

  it.each(tasks)('%s: never what a retry cannot mend', (_, { Retry = [] }) => {
    const names = Retry.flatMap(({ ErrorEquals = [] }) => ErrorEquals);
    for (const name of ['InvalidError', 'NotFoundError', 'ZodError', 'TypeError', 'States.ALL'])
      expect(names).not.toContain(name);
  });

  // Seen on a real one: an API server that has just started answers 403 until it has read its roles.
  it.each(tasks)('%s: what is forbidden is tried for half a minute', (_, { Retry = [] }) => {
    const retry = Retry.find(({ ErrorEquals = [] }) => ErrorEquals.includes('ForbiddenError'));
    expect(retry).toMatchObject({ IntervalSeconds: 5, MaxAttempts: 3, BackoffRate: 2 });
  });

  it.each(tasks)('%s: a neighbour that does not answer is tried for 30 minutes', (_, { Retry = [] }) => {
    const transient = Retry.find(({ ErrorEquals }) => ErrorEquals?.includes('TransientError'));
    expect(transient).toMatchObject({ IntervalSeconds: 20, MaxAttempts: 90, BackoffRate: 1 });
  });
});

describe('what comes next', () => {
  const answers = new Set<string>([
    ...rollingSchema.shape.next.options,
    ...awaitingSchema.shape.next.values,
    ...endWaitSchema.shape.next.values,
    ...puttingBackSchema.shape.next.values,
    'conclude',
  ]);

  it.each(choices)('%s: is chosen by words that steps say', (_, { Choices = [] }) => {
    for (const rule of Choices.flatMap((each) => each.Or ?? [each])) {
      const words: readonly string[] = rule.Variable === '$.outcome' ? outcomes : [...answers];
      expect(['$.next', '$.outcome']).toContain(rule.Variable);
      expect(words).toContain(rule.StringEquals);
    }
  });

  it('has a way for every step, and concludes by default', () => {
    const { Choices = [], Default } = definition.States['What comes next?'] ?? {};
    const ways = Object.fromEntries(Choices.map(({ StringEquals = '', Next }) => [StringEquals, Next]));
    expect(ways).toEqual({
      look: 'Wait',
      'await-approval': 'Await approval',
      'end-wait': 'End earlier wait',
      'hold-and-patch': 'Hold and patch',
      'modify-canary': 'Modify canary',
      'put-canary-back': 'Let options take hold',
      'put-back-and-end': 'Let options take hold',
      'modify-stragglers': 'Modify stragglers',
      'take-back': 'Take back',
    });
    expect(Default).toBe('Conclude');
  });

  it('waits for as long as the step says, and at the start until the parameters have settled', () => {
    expect(definition.States['Wait']).toMatchObject({
      Type: 'Wait',
      SecondsPath: '$.lookAgainIn',
      Next: 'Observe',
    });
    expect(definition.States[definition.StartAt]).toMatchObject({ Type: 'Wait', Seconds: 30, Next: 'Plan' });
  });

  it('looks again at what is put back after as long as the step says', () => {
    expect(definition.States['Let options take hold']).toMatchObject({
      Type: 'Wait',
      SecondsPath: '$.lookAgainIn',
      Next: 'Put canary back',
    });
  });

  it('outlasts the wait for a person and the longest deadline and drain time-out together', () => {
    expect(definition.TimeoutSeconds).toBeGreaterThan(APPROVAL_SECONDS + (24 + 48) * 3600);
  });
});

describe('the end', () => {
  it('is success for what is done, superseded or withdrawn, and failure by name for the rest', () => {
    const { Choices = [], Default = '' } = definition.States['What did it come to?'] ?? {};
    const done = Choices.find(({ Or }) => Or !== undefined);
    expect(done?.Or?.map(({ StringEquals }) => StringEquals)).toEqual([
      'Succeeded',
      'NothingToDo',
      'Superseded',
      'Withdrawn',
    ]);
    expect(definition.States[done?.Next ?? '']?.Type).toBe('Succeed');
    expect(definition.States[Default]).toMatchObject({
      Type: 'Fail',
      ErrorPath: '$.outcome',
      CausePath: '$.reason',
    });
  });

  it('goes on looking where a success is found to be none', () => {
    const [first] = definition.States['What did it come to?']?.Choices ?? [];
    expect(first).toEqual({ Variable: '$.next', StringEquals: 'look', Next: 'Wait' });
  });

  it('of what could not be concluded says the error itself', () => {
    expect(definition.States['Not concluded']).toMatchObject({
      Type: 'Fail',
      ErrorPath: '$.error.Error',
      CausePath: '$.error.Cause',
    });
  });
});
