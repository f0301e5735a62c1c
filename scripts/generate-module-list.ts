// Lists the modules of rollout/ in docs/architecture.md, each by the first sentence of the comment at its head.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { generate } from './generated-block.ts';

function firstSentence(file: string): string {
  // Imports may stand before it, code may not.
  const [, comment] = /^(?:import [^;]*;\s*)*\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8')) ?? [];
  if (comment === undefined) throw new Error(`${file} has no comment at its head that says what it is`);
  const text = comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim();
  return (/^.*?[.?!](?=\s|$)/.exec(text)?.[0] ?? text).replaceAll('|', '\\|');
}

const rows = globSync('rollout/*.ts')
  .sort()
  .map((file) => `| [${basename(file)}](../${file}) | ${firstSentence(file)} |`);

await generate([
  {
    file: 'docs/architecture.md',
    name: 'modules',
    text: ['| module | |', '| --- | --- |', ...rows].join('\n'),
  },
]);
