/** A scenario as it is written to a file, and the words for its values. */
import type { z } from 'zod';
import type { scenarioSchema } from '../../simulator/scenario/schema.ts';

export type Written = z.input<typeof scenarioSchema>;
export type WrittenNode = NonNullable<Written['nodes']>[number];
export type WrittenBuild = NonNullable<WrittenNode['builds']>[number];
export type WrittenPod = NonNullable<WrittenNode['pods']>[number];
export type WrittenEntry = NonNullable<Written['timeline']>[number];

const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `2h`, `90s`: whole seconds in the largest unit that leaves no rest. */
export function durationText(milliseconds: number): string {
  const whole = Math.round(milliseconds / 1_000) * 1_000;
  const [letter, size] = UNITS.find(([, each]) => whole % each === 0) ?? (['s', 1_000] as const);
  return whole === 0 ? '0s' : `${String(whole / size)}${letter}`;
}

/** What a scenario cannot say, each thing once. */
export interface Notes {
  add(what: string): void;
  all(): string[];
}

export function createNotes(): Notes {
  const notes = new Set<string>();
  return {
    add: (what) => {
      notes.add(what);
    },
    all: () => [...notes],
  };
}
