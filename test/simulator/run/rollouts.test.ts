import { expect, test } from 'vitest';
import { newExecution, type ExecutionRecord } from '../../../simulator/account/execution.ts';
import { collectRollouts, lastWord } from '../../../simulator/run/rollouts.ts';

const startedAt = new Date('2026-03-02T09:01:00Z');

function execution(rest: Partial<ExecutionRecord>): ExecutionRecord {
  return { ...newExecution('demo-1', { rack: 'demo' }, startedAt), ...rest };
}

const ended = (outcome: string, reason = `because ${outcome}`): ExecutionRecord =>
  execution({ status: 'SUCCEEDED', output: { outcome, reason } });

test.each<[string, Partial<ExecutionRecord>, string | null, string | null]>([
  ['runs', { status: 'RUNNING', payload: { outcome: 'Succeeded' } }, null, null],
  ['says it', { status: 'SUCCEEDED', output: { outcome: 'Superseded', reason: 'r' } }, 'Superseded', 'r'],
  ['failed with an outcome', { status: 'FAILED', error: 'Refused', cause: 'x is 65' }, 'Refused', 'x is 65'],
  [
    'broke',
    { status: 'FAILED', error: 'States.Runtime', cause: 'no $.x' },
    'Failed',
    'States.Runtime: no $.x',
  ],
  ['timed out', { status: 'TIMED_OUT' }, 'Failed', 'the execution timed out'],
  ['was stopped', { status: 'ABORTED' }, 'Aborted', 'the execution was stopped by hand'],
])('an execution that %s', (_what, rest, outcome, reason) => {
  expect(collectRollouts([execution(rest)])).toMatchObject([{ outcome, reason }]);
});

test('generation and compliantAt come from what the steps handed on', () => {
  const payload = { generation: 'abc', compliantAt: '2026-03-02T10:00:00.000Z' };
  expect(collectRollouts([execution({ status: 'RUNNING', payload })])).toMatchObject([payload]);
  expect(collectRollouts([execution({})])).toMatchObject([{ generation: null, compliantAt: null }]);
});

test.each([
  [[], null],
  [['Succeeded', 'NothingToDo', 'Superseded'], 'Succeeded'],
  [['Refused', 'Succeeded', 'NothingToDo'], 'Succeeded'],
  [['Superseded', 'NothingToDo'], 'NothingToDo'],
])('of %j, %j speaks for the run', (outcomes, speaks) => {
  const rollouts = collectRollouts(outcomes.map((outcome) => ended(outcome)));
  expect(lastWord(rollouts)).toEqual({
    outcome: speaks,
    reason: speaks === null ? null : `because ${speaks}`,
  });
});

test('an execution that still runs does not speak', () => {
  const rollouts = collectRollouts([ended('Succeeded'), execution({ status: 'RUNNING' })]);
  expect(lastWord(rollouts)).toMatchObject({ outcome: 'Succeeded' });
});
