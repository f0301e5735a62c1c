/**
 * The map of test/scenarios/coverage.yaml has no gap: every sentence, outcome and refusal has a scenario that ends as it
 * says, and every scenario has a line. That each scenario comes to what it expects is test/scenarios.test.ts.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { outcomes } from '../rollout/record.ts';
import { refusals, refusalsIn, type RefusalName } from '../rollout/refusals.ts';
import { COVERAGE, readCoverage, scenarioFile, sentencesOf } from '../scripts/coverage/read.ts';
import { loadScenario } from '../simulator/scenario/load.ts';

const coverage = readCoverage();
const sentences = sentencesOf(coverage);

/** How an expectation says that executions end. */
interface Expected {
  outcome?: string;
  reason?: string;
}

/** What a scenario expects of its executions, the last word among them. */
function endsOf(name: string): Expected[] {
  const file = scenarioFile(name);
  const { expect: expected = {} } = loadScenario(readFileSync(file, 'utf8'), file);
  return [expected, ...((expected['rollouts'] ?? []) as Expected[])];
}

test.each(['S1', 'S2', 'P'] as const)('the sentences of %s are numbered without a gap', (group) => {
  const ids = Object.keys(coverage[group]);
  expect(ids.length).toBeGreaterThan(10);
  expect(ids).toEqual(ids.map((_, index) => `${group}-${String(index + 1).padStart(2, '0')}`));
});

const named = [
  ...sentences.flatMap(({ line }) => line.scenarios ?? []),
  ...Object.values(coverage.outcomes).flat(),
  ...Object.values(coverage.refusals).flat(),
];

test('every scenario that a line names is there, and every scenario has a line', () => {
  const files = globSync('test/scenarios/*.yaml').filter((file) => file !== COVERAGE);
  const there = files.map((file) => basename(file, '.yaml'));
  expect(
    there.filter((name) => !named.includes(name)),
    'scenarios that no line names',
  ).toEqual([]);
  expect(
    named.filter((name) => !there.includes(name)),
    'scenarios that are not there',
  ).toEqual([]);
});

test('every test that a line names is there', () => {
  const missing = sentences
    .flatMap(({ line }) => line.tests ?? [])
    .filter(({ file, named: title }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title));
  expect(missing).toEqual([]);
});

test('every outcome has a line, and there is no other', () => {
  expect(Object.keys(coverage.outcomes).sort()).toEqual(outcomes.toSorted());
});

test.each(Object.entries(coverage.outcomes))('%s is how its scenarios end', (outcome, names) => {
  const others = names.filter((name) => !endsOf(name).some((end) => end.outcome === outcome));
  expect(others, `they expect no execution to end ${outcome}`).toEqual([]);
});

test('every refusal has a line, and there is no other', () => {
  expect(Object.keys(coverage.refusals).sort()).toEqual(Object.keys(refusals).sort());
});

test.each(Object.entries(coverage.refusals))('%s is what its scenarios are refused for', (refusal, names) => {
  const others = names.filter(
    (name) =>
      !endsOf(name).some(
        ({ outcome, reason }) =>
          outcome === 'Refused' &&
          reason !== undefined &&
          refusalsIn(reason).includes(refusal as RefusalName),
      ),
  );
  expect(others, `they expect no execution to be refused for ${refusal}`).toEqual([]);
});
