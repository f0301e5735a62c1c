/**
 * Generated files, and the generated parts of Markdown files: what stands between `<!-- generated: NAME -->` and `<!-- /generated -->`.
 * With --check nothing is written and the process ends with 1 where a file is not what it would be.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';

export interface Block {
  file: string;
  name: string;
  /** Markdown, without the markers. */
  text: string;
}

/** Puts each block in its place, and the whole file in Prettier's form. */
export async function generate(blocks: readonly Block[]): Promise<void> {
  for (const [file, own] of Map.groupBy(blocks, (block) => block.file)) {
    const before = readFileSync(file, 'utf8');
    const filled = own.reduce((text, block) => fill(text, block), before);
    await put(file, before, filled, `${file}: ${own.map(({ name }) => name).join(', ')}`);
  }
}

/** The same for a file that is generated as a whole. */
export async function generateFile(file: string, text: string): Promise<void> {
  await put(file, existsSync(file) ? readFileSync(file, 'utf8') : '', text, file);
}

async function put(file: string, before: string, text: string, what: string): Promise<void> {
  const after = await format(text, { ...(await resolveConfig(file)), filepath: file });
  if (after === before) return;
  if (!process.argv.includes('--check')) {
    writeFileSync(file, after);
    return;
  }
  console.error(`${what} out of date: run \`npm run docs\`${firstDifference(before, after)}`);
  process.exitCode = 1;
}

function fill(text: string, { file, name, text: block }: Block): string {
  const begin = `<!-- generated: ${name} -->`;
  const end = '<!-- /generated -->';
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${file} has no ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${block.trim()}\n\n${text.slice(to)}`;
}

function firstDifference(before: string, after: string): string {
  const [old, wanted] = [before.split('\n'), after.split('\n')];
  const at = wanted.findIndex((line, index) => line !== old[index]);
  return `\n  line ${String(at + 1)} is: ${old[at] ?? ''}\n  to be: ${wanted[at] ?? ''}`;
}
