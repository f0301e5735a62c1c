// Lists in docs/fidelity.md what is played on the simulator and on the real Karpenter, and what of it is not compared.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { notCompared } from '../test/karpenter/both/comparable.ts';
import { generate } from './generated-block.ts';

/** The comment at the file's head. */
function about(file: string): string {
  const [, comment = ''] = /^((?:# .*\n)+)/.exec(readFileSync(file, 'utf8')) ?? [];
  return comment.replaceAll(/^# /gm, '').trim().replaceAll('\n', ' ');
}

const scenarios = globSync('test/scenarios/both/*.yaml')
  .sort()
  .map((file) => `| [${basename(file)}](../${file}) | ${about(file)} |`);
const left = Object.entries(notCompared).map(([what, why]) => `| ${what} | ${why} |`);

await generate([
  {
    file: 'docs/fidelity.md',
    name: 'scenarios on both',
    text: ['| scenario | |', '| --- | --- |', ...scenarios].join('\n'),
  },
  {
    file: 'docs/fidelity.md',
    name: 'not compared',
    text: ['| of the result | why |', '| --- | --- |', ...left].join('\n'),
  },
]);
