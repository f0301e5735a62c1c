/** An execution's history as the Step Functions console lists its states: each visit with its moment and its length. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const named = z.object({ name: z.string() });
const historySchema = z.object({
  events: z.array(
    z.looseObject({
      type: z.string(),
      /** Of the CLI: seconds since 1970, or a date in words. */
      timestamp: z
        .union([z.number().transform((seconds) => new Date(seconds * 1000)), z.string()])
        .pipe(z.coerce.date()),
      stateEnteredEventDetails: named.optional(),
    }),
  ),
});

export interface Visit {
  state: string;
  /** `Task`, `Wait`, `Choice`, `Succeed` or `Fail`. */
  type: string;
  /** Milliseconds, from the start of the execution. */
  startedAfter: number;
  duration: number;
}

/** From what `aws stepfunctions get-execution-history` answered. A state is left when the next one is entered. */
export function visitsOf(answer: unknown): Visit[] {
  const { events } = historySchema.parse(answer);
  const start = events[0]?.timestamp.getTime() ?? 0;
  const end = (events.at(-1)?.timestamp.getTime() ?? start) - start;
  const entered = events.flatMap(({ type, timestamp, stateEnteredEventDetails }) =>
    stateEnteredEventDetails === undefined
      ? []
      : [
          {
            state: stateEnteredEventDetails.name,
            type: type.replace('StateEntered', ''),
            startedAfter: timestamp.getTime() - start,
          },
        ],
  );
  return entered.map((visit, index) => ({
    ...visit,
    duration: (entered[index + 1]?.startedAfter ?? end) - visit.startedAfter,
  }));
}

/** As a table of Markdown. */
export function historyTable(visits: readonly Visit[]): string {
  const rows = visits.map(
    ({ state, type, startedAfter, duration }, index) =>
      `| ${index + 1} | ${state} | ${type} | ${seconds(startedAfter)} | ${seconds(duration)} |`,
  );
  return ['|  | name | type | started after | duration |', '| --: | --- | --- | --: | --: |', ...rows].join(
    '\n',
  );
}

/** The states of the documentation's example, as it lists them. */
export function documentedStates(): string[] {
  const text = readFileSync(new URL('../../docs/fidelity.md', import.meta.url), 'utf8');
  return [...text.matchAll(/^\| +\d+ \| (.+?) +\| (?:Task|Wait|Choice|Succeed) +\|/gm)].map(
    ([, state = '']) => state,
  );
}

/** Each state once, in the order of their first visits: how many looks a rollout takes is chance. */
export const order = (states: readonly string[]): string[] => [...new Set(states)];

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
