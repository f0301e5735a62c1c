import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { resultSchema } from '../../../simulator/run/result.ts';
import { runScenario } from '../../../simulator/run/run.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';

const file = new URL('../../scenarios/default.yaml', import.meta.url);
const scenario = loadScenario(readFileSync(file, 'utf8'), 'default.yaml');

test('the real handlers and the real workflow give the same run twice, within seconds of CPU', async () => {
  const first = await runScenario(scenario);
  const before = process.cpuUsage();
  const second = await runScenario(scenario);
  const { user, system } = process.cpuUsage(before);
  expect(second).toEqual(first);
  expect(resultSchema.parse(first)).toEqual(first);
  expect(first.rollouts.length).toBeGreaterThan(0);
  expect((user + system) / 1e6).toBeLessThan(5);
}, 30_000);
