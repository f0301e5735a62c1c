// Writes who needs what into docs/permissions.md and, for `doctor`, into infra/permissions.json, from the sources: the
// same list that test/package/ holds against the roles.
import { generate, generateFile } from './generated-block.ts';
import { scan } from './permissions/scan.ts';

const code = (text: string): string => `\`${text}\``;

const calls = [...scan()];
const rows = calls.map(
  ([name, { actions, cluster }]) =>
    `| ${code(name)} | ${[...actions].map(code).join(', ')} | ${cluster === 'nothing' ? 'is not called' : cluster} |`,
);

await generate([
  {
    file: 'docs/permissions.md',
    name: 'functions',
    text: ['| function | calls in the account | the cluster |', '| --- | --- | --- |', ...rows].join('\n'),
  },
]);

await generateFile(
  'infra/permissions.json',
  JSON.stringify(Object.fromEntries(calls.map(([name, { actions }]) => [name, [...actions]]))),
);
