/** How the workflow retries its tasks: all alike, so that a step is no more fragile than its neighbours by accident. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';

const stateSchema = z.looseObject({
  Type: z.string(),
  Retry: z.array(z.looseObject({ ErrorEquals: z.array(z.string()) })).optional(),
});
const { States: states } = z
  .object({ States: z.record(z.string(), stateSchema) })
  .parse(JSON.parse(readFileSync('statemachine/rollout.asl.json', 'utf8')));
const tasks = Object.entries(states).filter(([, { Type }]) => Type === 'Task');
const usual = states['Plan']?.Retry ?? [];

/** Where it is otherwise, and why. */
const exceptions: Record<string, typeof usual | undefined> = {
  // Its time-out is the end of the wait for a person, which Conclude calls Expired, and no function that hangs.
  'Await approval': usual.map((retrier) => ({
    ...retrier,
    ErrorEquals: retrier.ErrorEquals.filter((name) => name !== 'States.Timeout'),
  })),
};

it.each(tasks)('%s is retried as every task is, or as is said why not', (name, { Retry }) => {
  expect(Retry).toEqual(exceptions[name] ?? usual);
});

it('retries nothing by a name that stands twice, of which the first alone would count', () => {
  const names = usual.flatMap(({ ErrorEquals }) => ErrorEquals);
  expect(names.length).toBeGreaterThan(5);
  expect(new Set(names).size).toBe(names.length);
});

it('has no exception that is none, or of no task', () => {
  for (const [name, retriers] of Object.entries(exceptions)) {
    expect(tasks.map(([task]) => task)).toContain(name);
    expect(retriers).not.toEqual(usual);
  }
});
