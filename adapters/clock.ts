import type { Clock } from '../rollout/ports.ts';

export const systemClock: Clock = { now: () => new Date() };
