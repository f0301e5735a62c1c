/** What doctor found, in words. */
import type { Check } from '../doctor/check.ts';
import type { Diagnosis } from '../doctor/diagnose.ts';
import { bad, bold, good, notable } from './style.ts';

const colours: Record<Check['state'], (text: string) => string> = {
  ok: good,
  problem: bad,
  unknown: notable,
};
const WIDTH = Math.max(...Object.keys(colours).map(({ length }) => length));

export const diagnosesText = (diagnoses: readonly Diagnosis[]): string =>
  diagnoses.map(diagnosisText).join('\n\n');

function diagnosisText({ rack, checks }: Diagnosis): string {
  const lines = checks.flatMap(({ name, state, what, todo }) => [
    `${colours[state](state.padEnd(WIDTH))} ${name}: ${what}`,
    ...(todo === undefined ? [] : [`${' '.repeat(WIDTH)} → ${todo}`]),
  ]);
  return [bold(rack === null ? 'Deployment' : `Rack ${rack}`), ...lines].join('\n');
}
