/**
 * What a forecast takes for what cannot be known, in numbers: how long Builds run, and how long Karpenter and EC2 take.
 * Lengths are log-logistic: a Build that has run for long is likely to go on for long, and what is left of one of any
 * age is drawn in closed form.
 */
import { count } from '../view/words.ts';
import { formatDuration } from '../../simulator/scenario/duration.ts';

/** Log-logistic: half of all are shorter than `median`; the larger `shape`, the closer to it. */
export interface LengthPrior {
  medianMs: number;
  shape: number;
}

export interface Range {
  lowMs: number;
  highMs: number;
}

export interface Prior {
  buildLength: LengthPrior;
  /** How many finished Builds of the cluster it was corrected by. */
  seenBuilds: number;
  /** Each is uniform, and drawn once a run. */
  launch: Range;
  register: Range;
  initialize: Range;
  classReady: Range;
  applyDelay: Range;
  /** Of each call that a function makes to AWS or the API server, of which its length is made: uniform in its logarithm. */
  call: Range;
}

/** Of ten Builds five are shorter than 15 minutes, nine than 51 minutes. */
const BUILD_LENGTH: LengthPrior = { medianMs: 15 * 60_000, shape: 1.8 };

/** As many Builds as the prior itself counts for beside those that are seen. */
const PRIOR_COUNTS_AS = 10;

/** A Build longer than this ends no rollout differently: twice the longest drain time-out. */
const LONGEST_MS = 96 * 3_600_000;
const SECOND = 1_000;

/** `finished`: how long Builds of the cluster ran that have ended, in milliseconds. */
export function priorOf(finished: readonly number[]): Prior {
  return {
    buildLength: corrected(
      BUILD_LENGTH,
      finished.map((length) => Math.max(SECOND, length)),
    ),
    seenBuilds: finished.length,
    launch: { lowMs: 20 * SECOND, highMs: 75 * SECOND },
    register: { lowMs: 15 * SECOND, highMs: 60 * SECOND },
    initialize: { lowMs: 5 * SECOND, highMs: 40 * SECOND },
    classReady: { lowMs: 1 * SECOND, highMs: 8 * SECOND },
    applyDelay: { lowMs: 1 * SECOND, highMs: 5 * SECOND },
    call: { lowMs: 10, highMs: 500 },
  };
}

/** Mean and variance of the logarithms, of the prior and of what is seen together. */
function corrected(prior: LengthPrior, seen: readonly number[]): LengthPrior {
  if (seen.length === 0) return prior;
  const logs = seen.map(Math.log);
  const all = PRIOR_COUNTS_AS + logs.length;
  const before = { mean: Math.log(prior.medianMs), variance: Math.PI ** 2 / (3 * prior.shape ** 2) };
  const mean = (PRIOR_COUNTS_AS * before.mean + logs.reduce((sum, log) => sum + log, 0)) / all;
  const squares = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0);
  const variance = (PRIOR_COUNTS_AS * (before.variance + (before.mean - mean) ** 2) + squares) / all;
  return { medianMs: Math.exp(mean), shape: Math.PI / Math.sqrt(3 * variance) };
}

/**
 * How long a Build that has run for `ageMs` runs in all, in milliseconds: the length that a share of `share` (0 to 1) of
 * all Builds of that age exceed.
 */
export function lengthExceededBy({ medianMs, shape }: LengthPrior, ageMs: number, share: number): number {
  const older = 1 / (1 + (Math.max(0, ageMs) / medianMs) ** shape);
  const left = Math.max(Number.MIN_VALUE, share * older);
  const length = medianMs * (1 / left - 1) ** (1 / shape);
  return Math.min(Math.max(length, ageMs + SECOND), ageMs + LONGEST_MS);
}

/** For people: distributions in words and numbers. */
export function priorText(prior: Prior): string[] {
  const { buildLength, seenBuilds } = prior;
  const [half, nine] = [0.5, 0.1].map((share) => formatDuration(lengthExceededBy(buildLength, 0, share)));
  const range = ({ lowMs, highMs }: Range): string => `${formatDuration(lowMs)} to ${formatDuration(highMs)}`;
  return [
    `a Build runs for ${half ?? ''} (P50) to ${nine ?? ''} (P90), log-logistic; one that runs already, for longer than it has`,
    seenBuilds === 0
      ? 'no finished Build is seen in the cluster: these are assumed lengths'
      : `corrected by ${count(seenBuilds, 'finished Build')} of the cluster`,
    `a launch takes ${range(prior.launch)}, to register ${range(prior.register)}, to initialise ${range(prior.initialize)}`,
    `the class is Ready after ${range(prior.classReady)}, a live modification is applied after ${range(prior.applyDelay)}`,
    `each call of a function to AWS or the API server takes ${String(prior.call.lowMs)} to ${String(prior.call.highMs)} ms, the shorter as likely as the longer by magnitude: no look is punctual to the second`,
    'no Build comes but those that wait for a node already; no launch fails, no neighbour does, nobody interferes',
    'an approval that is needed is given at once',
  ];
}
