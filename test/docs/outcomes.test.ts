/** docs/outcomes.md shows every outcome that there is, each from every side. */
import { expect, test } from 'vitest';
import { readCoverage } from '../../scripts/coverage/read.ts';
import { read } from './markdown.ts';

const sections = new Map(
  read('docs/outcomes.md')
    .split(/^## /m)
    .map((text) => [text.split('\n')[0], text]),
);

test.each(Object.entries(readCoverage().outcomes))('%s is shown as it is seen', (outcome, [scenario]) => {
  const section = sections.get(outcome) ?? '';
  expect(section).toContain(`test/scenarios/${scenario ?? ''}.yaml`);
  for (const where of ['console', '`imds-rollout watch`', 'notice', 'on call'])
    expect(section).toMatch(new RegExp(String.raw`^\| ${where} +\| \S`, 'm'));
  expect(section).toContain(`operations.md#${outcome.toLowerCase()}`);
  expect(section).not.toMatch(/undefined|\bnull\b/);
});
