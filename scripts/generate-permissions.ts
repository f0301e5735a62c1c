// Writes who needs what into docs/permissions.md, from the sources: the same list that test/package/ holds against
// the roles.
import { generate } from './generated-block.ts';
import { scan } from './permissions/scan.ts';

const code = (text: string): string => `\`${text}\``;

const rows = [...scan()].map(
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
