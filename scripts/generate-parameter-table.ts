// Writes the tables of parameters into README.md from rollout/parameters.ts.
import { parameters, type Key, type Parameter } from '../rollout/parameters.ts';
import { generate } from './generated-block.ts';

const all = Object.entries(parameters) as [Key, Parameter<unknown>][];
const isPolicy = ([, { groups }]: [Key, Parameter<unknown>]): boolean => groups.includes('rollout');

function table(rows: readonly [Key, Parameter<unknown>][]): string {
  const lines = rows.map(
    ([key, { accepted, fallback, meaning }]) =>
      `| \`${key}\` | ${[accepted, fallback, meaning].map(cell).join(' | ')} |`,
  );
  return ['| parameter | accepted | not set | what it is |', '| --- | --- | --- | --- |', ...lines].join(
    '\n',
  );
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function groupsTable(): string {
  const groups = [...new Set(all.flatMap(([, { groups: own }]) => own))];
  const lines = groups.map((group) => {
    const keys = all.filter(([, { groups: own }]) => own.includes(group)).map(([key]) => `\`${key}\``);
    return `| \`${group}\` | ${keys.join(', ')} |`;
  });
  return ['| group | parameters |', '| --- | --- |', ...lines].join('\n');
}

await generate([
  {
    file: 'README.md',
    name: 'asked parameters',
    text: table(all.filter((each) => !isPolicy(each))),
  },
  { file: 'README.md', name: 'policy parameters', text: table(all.filter(isPolicy)) },
  { file: 'docs/parameters.md', name: 'groups', text: groupsTable() },
]);
