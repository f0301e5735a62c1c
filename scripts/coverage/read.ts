/** test/scenarios/coverage.yaml: which scenario or test shows which sentence, outcome and refusal. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

export const COVERAGE = 'test/scenarios/coverage.yaml';

const scenarios = z.array(z.string()).min(1);

const sentenceSchema = z
  .strictObject({
    says: z.string().min(1),
    scenarios: scenarios.exactOptional(),
    tests: z
      .array(z.strictObject({ file: z.string(), named: z.string() }))
      .min(1)
      .exactOptional(),
  })
  .refine((line) => line.scenarios !== undefined || line.tests !== undefined, 'no scenario and no test shows it');
type Sentence = z.infer<typeof sentenceSchema>;

const coverageSchema = z.strictObject({
  S1: z.record(z.string(), sentenceSchema),
  S2: z.record(z.string(), sentenceSchema),
  P: z.record(z.string(), sentenceSchema),
  outcomes: z.record(z.string(), scenarios),
  refusals: z.record(z.string(), scenarios),
});
export type Coverage = z.infer<typeof coverageSchema>;

/** Where the sentences of a group come from. */
export const groups = {
  S1: 'Of the parameter’s specification',
  S2: 'Of an article on the hop limit, and what a change of it takes',
  P: 'What this project promises beyond both',
} as const satisfies Partial<Record<keyof Coverage, string>>;

export const readCoverage = (): Coverage => coverageSchema.parse(parse(readFileSync(COVERAGE, 'utf8')));

/** Every sentence, with its group and number. */
export const sentencesOf = (coverage: Coverage): { group: keyof typeof groups; id: string; line: Sentence }[] =>
  (Object.keys(groups) as (keyof typeof groups)[]).flatMap((group) =>
    Object.entries(coverage[group]).map(([id, line]) => ({ group, id, line })),
  );

export const scenarioFile = (name: string): string => `test/scenarios/${name}.yaml`;
