import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { anchors, files, links, read } from './markdown.ts';

const isRemote = (target: string): boolean => /^[a-z]+:/.test(target);

test.each(files)('every relative link of %s leads to a file, and to a heading of it', (file) => {
  const dead = links(read(file))
    .filter((target) => !isRemote(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#');
      const to = path === '' ? file : normalize(join(dirname(file), path));
      if (!existsSync(to)) return true;
      return anchor !== undefined && !anchors(read(to)).includes(anchor);
    });
  expect(dead).toEqual([]);
});

test('every document is reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const file of reached) {
    for (const target of links(read(file))) {
      const path = target.split('#')[0] ?? '';
      const to = normalize(join(dirname(file), path));
      if (!isRemote(target) && files.includes(to)) reached.add(to);
    }
  }
  expect(files.filter((file) => !reached.has(file))).toEqual([]);
});
