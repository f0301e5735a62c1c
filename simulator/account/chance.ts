import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { Chance } from '../parts.ts';

/** The first numbers of two generators with neighbouring seeds are alike: those are passed over. */
const ALIKE = 128;

/** The same seed gives the same run: everything random in a run is drawn from one of these. */
export function createChance(seed: number): Chance {
  const generator = xoroshiro128plus(seed);
  for (let index = 0; index < ALIKE; index += 1) generator.next();
  const next = (): number => uniformFloat64(generator);
  return { next, between: (low, high) => low + next() * (high - low) };
}

/**
 * Makes Math.random one of these for as long as `run` takes: the workflow library draws the jitter of retries from it.
 */
export async function withSeededRandom<T>(seed: number, run: () => Promise<T>): Promise<T> {
  const real = Object.getOwnPropertyDescriptor(Math, 'random');
  const chance = createChance(seed);
  Math.random = () => chance.next();
  try {
    return await run();
  } finally {
    if (real) Object.defineProperty(Math, 'random', real);
  }
}
