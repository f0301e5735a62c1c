/** Scenario files as the command line names them. */
import { readFileSync } from 'node:fs';
import { loadScenario } from '../simulator/scenario/load.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import { CommandFailure } from './failure.ts';
import { fileTrouble } from './file-trouble.ts';

/** Throws a CommandFailure where the file cannot be read, and a ScenarioError where it cannot be played. */
export function readScenario(file: string): Scenario {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${fileTrouble(error)}`);
  }
  return loadScenario(text, file);
}
