/** A forecast as `plan --json` prints it. Durations in seconds, shares from 0 to 1. */
import { z } from 'zod';

const share = z.number().min(0).max(1).describe('Of the runs');
const seconds = z.number().nullable().describe('Seconds; null where so many runs did not come to it');

const quantilesSchema = z.strictObject({
  p5: seconds,
  p10: seconds,
  p50: seconds,
  p90: seconds,
  p95: seconds,
});
export type Quantiles = z.infer<typeof quantilesSchema>;

const range = z.strictObject({ lowMs: z.number(), highMs: z.number() }).describe('Uniform, drawn once a run');

const byShare = z.array(z.strictObject({ node: z.string(), share }));

export const forecastSchema = z.strictObject({
  runs: z.int(),
  seed: z.int(),
  virtualHours: z.number().describe('That were played in all'),
  prior: z.strictObject({
    words: z.array(z.string()),
    numbers: z.strictObject({
      buildLength: z
        .strictObject({ medianMs: z.number(), shape: z.number() })
        .describe('Log-logistic; of a Build that runs already, given that it has run for so long'),
      seenBuilds: z.int().describe('Finished Builds of the cluster that corrected it'),
      launch: range,
      register: range,
      initialize: range,
      classReady: range,
      applyDelay: range,
      call: range.describe('Of each call of a function; uniform in its logarithm, drawn once a run'),
    }),
  }),
  duration: z.strictObject({
    from: z.enum(['start', 'now']).describe('now: a rollout is under way already'),
    toCompliant: quantilesSchema.describe('Until every running build instance is right'),
    toEnd: quantilesSchema.describe('Until the rollout has ended'),
  }),
  modifiedLive: z.strictObject({
    certain: z
      .array(z.string())
      .describe('In every run, and even if all Builds ended and nodes came at once'),
    probable: byShare.describe('In at least half of the runs'),
    possible: byShare.describe('In some, or only if no Build ended and no node could be launched (share 0)'),
    never: z.array(z.string()).describe('In none, not even then'),
  }),
  buildsAtRisk: z.array(
    z.strictObject({
      build: z.string().describe('namespace/name'),
      node: z.string().nullable(),
      evicted: share,
      givenUp: share.describe('It waited for a node for too long'),
      changedUnder: share.describe("Its node's options were changed live while it ran"),
    }),
  ),
  waits: z
    .array(z.strictObject({ build: z.string(), p50: seconds, p90: seconds }))
    .describe('Of Builds that have no node yet'),
  outcomes: z.record(z.string(), share),
  couldNotExpress: z.array(z.string()).describe('What the cluster has and the simulator does not'),
});
export type Forecast = z.infer<typeof forecastSchema>;

/** Without what it takes there is no forecast, and why is said. */
export const noForecastSchema = z.strictObject({ missing: z.string() });
