/** What people are told of a played scenario, one by one: nothing twice. */
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { loadScenario } from '../simulator/scenario/load.ts';
import { runScenario } from '../simulator/run/run.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Outcome and reason of each notice, in order. */
async function toldOf(file: string): Promise<{ outcome: string; reason: string }[]> {
  const text = readFileSync(new URL(`scenarios/${file}`, import.meta.url), 'utf8');
  const { notices } = await runScenario(loadScenario(text, file));
  return notices.map(({ detail }) => ({
    outcome: String(detail['outcome']),
    reason: String(detail['reason']),
  }));
}

test('a value that was refused during a rollout is named by its end, and by no further execution', async () => {
  const told = await toldOf('refused-meanwhile.yaml');
  expect(told.map(({ outcome }) => outcome)).toEqual([...Array<string>(4).fill('Refused'), 'Succeeded']);
  expect(told.at(-1)?.reason).toContain('what the parameters ask by now is refused: ');
  expect(told.at(-1)?.reason).toContain(told.at(-2)?.reason);
});

test('what a rollout was withdrawn for is refused only to who asks anew', async () => {
  const told = await toldOf('vanished.yaml');
  expect(told.map(({ outcome }) => outcome)).toEqual(['Withdrawn', 'Refused']);
});

test('a turn that is ended late does not end its execution again', async () => {
  const told = await toldOf('concluded-once.yaml');
  expect(told.map(({ outcome }) => outcome)).toEqual(['Failed', 'Refused']);
});
