import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { runScenario } from '../../simulator/run/run.ts';
import { differences } from '../../simulator/scenario/expect.ts';
import { loadScenario } from '../../simulator/scenario/load.ts';
import { wrongNotices } from '../notices.ts';
import { files, read } from './markdown.ts';

const examples = globSync('docs/examples/*.yaml').sort();

test.each(examples)('%s comes to what it says', { timeout: 60_000 }, async (file) => {
  const scenario = loadScenario(readFileSync(file, 'utf8'), file);
  const result = await runScenario(scenario);
  expect(result.violations).toEqual([]);
  expect(wrongNotices(result.notices)).toEqual([]);
  expect(scenario.expect).toBeDefined();
  expect(differences(scenario.expect ?? {}, { ...result })).toEqual([]);
});

test('each example is shown somewhere', () => {
  const text = files.map(read).join('\n');
  expect(examples.filter((file) => !text.includes(`examples/${basename(file)}`))).toEqual([]);
});
