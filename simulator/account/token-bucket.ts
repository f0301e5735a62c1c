/** EC2's request throttling: a bucket of tokens that refills steadily ("Request token bucket sizes and refill rates"). */
import type { Clock } from '../../rollout/ports.ts';

export interface BucketOptions {
  capacity: number;
  refillPerSecond: number;
  /** The share of the refill that other callers of the account use up, steadily; the bucket fills up all the same. */
  strangers: number;
}

export interface Bucket {
  /** Takes one token; false where none is left. */
  take(): boolean;
}

export function createBucket(clock: Clock, { capacity, refillPerSecond, strangers }: BucketOptions): Bucket {
  const perMillisecond = (refillPerSecond * (1 - strangers)) / 1000;
  let tokens = capacity;
  let at = clock.now().getTime();
  return {
    take() {
      const now = clock.now().getTime();
      tokens = Math.min(capacity, tokens + (now - at) * perMillisecond);
      at = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
