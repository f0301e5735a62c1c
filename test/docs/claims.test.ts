import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { noticeSchema } from '../../rollout/notice.ts';
import { outcomes } from '../../rollout/record.ts';
import { anchors, read } from './markdown.ts';

const architecture = 'docs/architecture.md';

/** `| what | 4 min | `NAME` in [file](path) |` */
const row = /^\| (.+?) +\| (\d+)(?: (s|min))? +\| `([A-Z_]+)` in \[\S+\]\((\S+)\)/gm;

const claimed = [...read(architecture).matchAll(row)].map(
  ([, what = '', number = '', unit, constant = '', path = '']) => ({ what, number, unit, constant, path }),
);

/** The value of a constant that is written as a number or a product of numbers. */
function valueOf(path: string, constant: string): number {
  const source = readFileSync(join(dirname(architecture), path), 'utf8');
  const [, product] = new RegExp(String.raw`const ${constant} = ([\d_ *]+);`).exec(source) ?? [];
  if (product === undefined) throw new Error(`${path} has no constant ${constant} that is a number`);
  return product
    .split('*')
    .map((factor) => Number(factor.replaceAll('_', '')))
    .reduce((all, factor) => all * factor, 1);
}

test('the list of numbers is read', () => {
  expect(claimed.length).toBeGreaterThan(10);
});

test.each(claimed)('$what is $number $unit as $constant says', ({ number, unit, constant, path }) => {
  const seconds = { s: 1, min: 60 }[unit ?? 's'] ?? 1;
  const scale = constant.endsWith('_MS') ? 1000 : 1;
  expect(valueOf(path, constant)).toBe(Number(number) * seconds * scale);
});

test('the names of tests that are quoted exist where it says', () => {
  const text = read(architecture);
  const quoted = [...text.matchAll(/`([^`]+)`,? (?:in \[\S+\]\((\S+)\)|same file|(\S+\.test\.ts))/g)];
  const sources = ['disruption', 'provisioning', 'drift'].map((name) =>
    readFileSync(`test/simulator/cluster/${name}.test.ts`, 'utf8'),
  );
  const titles = quoted.map(([, title = '']) => title).filter((title) => title.includes(' '));
  expect(titles.length).toBeGreaterThan(4);
  expect(titles.filter((title) => !sources.some((source) => source.includes(title)))).toEqual([]);
});

test('README and operations tell of every outcome', () => {
  const readme = /## Outcomes\n([\s\S]*?)\n## /.exec(read('README.md'))?.[1] ?? '';
  expect(outcomes.filter((outcome) => !readme.includes(`\`${outcome}\``))).toEqual([]);
  const headings = anchors(read('docs/operations.md')).join(' ');
  expect(outcomes.filter((outcome) => !headings.includes(outcome.toLowerCase()))).toEqual([]);
});

test("operations' pattern for notices asks for what they have", () => {
  const [, text = ''] = /```json\n([\s\S]*?)```/.exec(read('docs/operations.md')) ?? [];
  const pattern = z
    .strictObject({
      source: z.tuple([z.literal('imds-rollout')]),
      detail: z.record(z.string(), z.array(z.unknown())),
    })
    .parse(JSON.parse(text));
  for (const [key, values] of Object.entries(pattern.detail)) {
    const field = noticeSchema.shape[key as keyof typeof noticeSchema.shape] as z.ZodType | undefined;
    expect(values.filter((value) => field?.safeParse(value).success !== true)).toEqual([]);
  }
});

const rowsOf = (section: string): string[] => {
  const [, text = ''] =
    new RegExp(`\\n## ${section}\\n([\\s\\S]*?)\\n## `).exec(read('docs/operations.md')) ?? [];
  return [...text.matchAll(/^\| `([\w-]+)`/gm)].map(([, name = '']) => name).sort();
};

test('operations says of every alarm what to do', () => {
  const alarms = [...read('infra/alarms.yml').matchAll(/AlarmName: \S+\}-([\w-]+)/g)].map(([, name]) => name);
  expect(rowsOf('Alarms')).toEqual(alarms.sort());
});

test('operations says of every metric what it is', () => {
  const published = globSync('functions/**/*.ts').flatMap((file) =>
    [...read(file).matchAll(/addMetric\(\s*'(\w+)'/g)].map(([, name]) => name),
  );
  expect(rowsOf('Metrics')).toEqual([...new Set(published)].sort());
});
