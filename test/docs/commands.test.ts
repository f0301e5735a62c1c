import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { files, inlineCommands, read, typedLines } from './markdown.ts';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

const helps = new Map<string, string>();

/** What the command says of itself. */
function help(path: readonly string[]): string {
  const key = path.join(' ');
  const known = helps.get(key);
  if (known !== undefined) return known;
  const run = spawnSync(process.execPath, ['cli/main.ts', ...path, '--help'], { encoding: 'utf8' });
  helps.set(key, run.stdout);
  return run.stdout;
}

const subcommands = (text: string): string[] => {
  const [, list = ''] = /^Commands:\n((?: {2}.*\n)*)/m.exec(text) ?? [];
  return [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name ?? '');
};

/** Words in capitals (FILE, ARGS, KEY=VALUE) stand for something. */
const isPlaceholder = (word: string): boolean => /^[A-Z=]+$/.test(word);

/** What is wrong with the arguments of imds-rollout. */
function problems(words: readonly string[]): string[] {
  const path: string[] = [];
  const rest = [...words];
  while (rest[0] !== undefined && subcommands(help(path)).includes(rest[0])) path.push(rest.shift() ?? '');
  if (path.length === 0) {
    const only = rest.length === 1 && isPlaceholder(rest[0] ?? '');
    return only ? [] : [`no command ${rest[0] ?? ''}`];
  }
  const text = help(path);
  return rest.flatMap((word) => {
    if (word.startsWith('-')) {
      return new RegExp(String.raw`(^|[\s,])${word}\b`, 'm').test(text) ? [] : [`no option ${word}`];
    }
    return word.includes('/') && !word.includes('=') && !existsSync(word) ? [`no file ${word}`] : [];
  });
}

function check(line: string): string[] {
  return line.split('&&').flatMap((part) => {
    const words = part.trim().split(/\s+/);
    const found = checkOne(words);
    return found.map((problem) => `${part.trim()}: ${problem}`);
  });
}

function checkOne([program, ...words]: string[]): string[] {
  if (program === 'imds-rollout') return problems(words);
  if (program !== 'npm') return [];
  const [verb = '', ...rest] = words.filter((word) => word !== '-s');
  if (verb === 'ci') return [];
  const script = verb === 'run' ? (rest.shift() ?? '') : verb;
  if (scripts[script] === undefined) return [`no script ${script}`];
  const args = rest.filter((word) => word !== '--');
  if (script === 'imds-rollout') return problems(args);
  return script === 'start' ? problems(['simulate', ...args]) : [];
}

const lines = files.flatMap((file) => {
  const text = read(file);
  return [...typedLines(text), ...inlineCommands(text)].map((line) => ({ file, line }));
});

test('there are commands to check', { timeout: 60_000 }, () => {
  expect(lines.length).toBeGreaterThan(20);
  expect(check('npm run nothing')).toHaveLength(1);
  expect(check('imds-rollout simulate none/such.yaml --loud')).toHaveLength(2);
  expect(check('imds-rollout dance')).toHaveLength(1);
});

test.each(files)(
  'the commands that %s shows exist, with their options and files',
  { timeout: 60_000 },
  (file) => {
    const found = lines.filter((each) => each.file === file).flatMap(({ line }) => check(line));
    // `[-- FILE]` is the usual way to write what may be left out.
    expect(found.filter((problem) => !problem.includes('['))).toEqual([]);
  },
);
