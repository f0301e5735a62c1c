// Writes docs/coverage.md's tables from test/scenarios/coverage.yaml.
import { refusals } from '../rollout/refusals.ts';
import { groups, readCoverage, scenarioFile, sentencesOf } from './coverage/read.ts';
import { generate } from './generated-block.ts';

const FILE = 'docs/coverage.md';
const coverage = readCoverage();
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<');
const scenarios = (names: readonly string[]): string[] =>
  names.map((name) => `[${name}](../${scenarioFile(name)})`);

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n');
}

const sentences = Object.entries(groups).map(([group, from]) => {
  const rows = sentencesOf(coverage)
    .filter((each) => each.group === group)
    .map(({ id, line }) => [
      id,
      cell(line.says),
      [
        ...scenarios(line.scenarios ?? []),
        ...(line.tests ?? []).map(({ file, named }) => `“${named}” in [${file}](../${file})`),
      ].join(', '),
    ]);
  return `### ${group}: ${from}\n\n${table(['no.', 'sentence', 'shown by'], rows)}`;
});

const outcomes = Object.entries(coverage.outcomes).map(([outcome, names]) => [
  outcome,
  scenarios(names).join(', '),
]);
const refused = Object.entries(refusals).map(([name, { says }]) => [
  cell(says.replaceAll(/\{\w+\}/g, '…')),
  scenarios(coverage.refusals[name] ?? []).join(', '),
]);

await generate([
  { file: FILE, name: 'sentences', text: sentences.join('\n\n') },
  { file: FILE, name: 'outcomes', text: table(['outcome', 'shown by'], outcomes) },
  { file: FILE, name: 'refusals', text: table(['the reason says', 'shown by'], refused) },
]);
