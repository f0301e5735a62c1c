/** How often a forecast plays what may come. */
export interface Runs {
  runs: number;
  seed: number;
}

/** As many as tell nine in ten apart from all. */
export const DEFAULT_RUNS = 50;
