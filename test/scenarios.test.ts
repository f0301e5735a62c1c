/** Every scenario of test/scenarios is played: what it expects holds, nothing is violated, and no two are the same. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { differences } from '../simulator/scenario/expect.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import { wrongNotices } from './notices.ts';
import { playTraced } from './trace.ts';

// A busy machine may be slow; what counts is counted, not timed.
vi.setConfig({ testTimeout: 60_000 });

const folder = new URL('scenarios/', import.meta.url);
const files = globSync('**/*.yaml', { cwd: fileURLToPath(folder) })
  .filter((file) => file !== 'coverage.yaml')
  .sort();

const read = (file: string): { text: string; scenario: Scenario } => {
  const text = readFileSync(new URL(file, folder), 'utf8');
  return { text, scenario: loadScenario(text, file) };
};

/** Files by trace, so that two alike are told by name. */
const traces = new Map<string, string[]>();

describe.each(files)('%s', (file) => {
  const { text, scenario } = read(file);

  test('begins by saying what it plays, and is called what it plays', () => {
    expect(text).toMatch(/^# \S/);
    if (file !== 'default.yaml') expect(`${scenario.name}.yaml`).toBe(basename(file));
  });

  test('comes to what it expects, and violates nothing', async () => {
    const { result, trace } = await playTraced(scenario);
    traces.set(trace.join('\n'), [...(traces.get(trace.join('\n')) ?? []), file]);
    expect(scenario.expect).toBeDefined();
    expect(differences(scenario.expect ?? {}, { ...result })).toEqual([]);
    expect(result.violations).toEqual([]);
    expect(wrongNotices(result.notices)).toEqual([]);
  });
});

test.each([2, 3, 4, 5, 6])('in-flight.yaml loses no Build by chance either, seed %i', async (seed) => {
  const { scenario } = read('in-flight.yaml');
  const { result } = await playTraced(scenario, { seed });
  expect(differences(scenario.expect ?? {}, { ...result })).toEqual([]);
  expect(result.violations).toEqual([]);
});

test('there are scenarios, and no two of them are the same one told twice', () => {
  expect(files.length).toBeGreaterThanOrEqual(15);
  expect([...traces.values()].filter((alike) => alike.length > 1)).toEqual([]);
  expect([...traces.values()].flat().sort()).toEqual([...files].sort());
});
