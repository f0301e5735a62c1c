import { Command, InvalidArgumentError } from 'commander';
import { join } from 'node:path';
import { watchWorld } from '../../simulator/invariants/watch-world.ts';
import type { RunResult } from '../../simulator/run/result.ts';
import { runScenario } from '../../simulator/run/run.ts';
import type { World } from '../../simulator/run/world.ts';
import { differences } from '../../simulator/scenario/expect.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { exitCodes } from '../exit-codes.ts';
import { readReports, writeReport } from '../reports.ts';
import { readScenario } from '../scenario-file.ts';
import { alarm } from '../view/style.ts';
import { summaryText } from '../view/summary.ts';
import { createWatcher } from '../watch.ts';

interface Options {
  json?: boolean;
  seed?: number;
  watch?: boolean;
  report?: string;
}

const examples = `
Examples:
  imds-rollout simulate scenario.yaml             play it, print what it came to, write the reports to out/
  imds-rollout simulate scenario.yaml --watch     look on while it is played
  imds-rollout simulate scenario.yaml --json      one JSON object (schema/result.schema.json)
  imds-rollout simulate scenario.yaml --seed 7    with other random delays

Ends with 0 if no invariant is broken and everything is as the scenario expects, with 2 if not, with 1 on an error.`;

/** Plays a scenario with the real functions and the real workflow in virtual time. */
export function simulateCommand(): Command {
  return new Command('simulate')
    .summary('play a scenario with the real functions and workflow, in virtual time')
    .description(
      'Plays a scenario file with the real functions and the real workflow on a simulated account and cluster.',
    )
    .argument('<file>', 'the scenario (YAML)')
    .option('--json', 'print the result as one JSON object and nothing else')
    .option('--seed <number>', 'drives every random delay (default: what the scenario says)', wholeNumber)
    .option('--watch', 'show what happens while it is played')
    .option('--report <folder>', 'where the reports are written (default: out; with --json none are)')
    .addHelpText('after', examples)
    .action(simulate);
}

async function simulate(file: string, options: Options): Promise<void> {
  const scenario = readScenario(file);
  const watcher = options.watch && !options.json ? createWatcher(scenario.name, process.stdout) : undefined;
  let world: World | undefined;
  const result = await runScenario(scenario, {
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    invariants: (made) => {
      world = made;
      return watchWorld(made);
    },
    ...(watcher === undefined ? {} : { onStep: watcher.onStep }),
  });
  watcher?.end();
  const folder = options.report ?? (options.json ? undefined : 'out');
  const pages =
    folder === undefined || world === undefined ? [] : await writeReports(world, scenario, folder);
  print(scenario, result, { json: options.json === true, pages, afterWatch: watcher !== undefined });
  process.exitCode = verdict(scenario, result);
}

/** Every report of the run; returns the paths of the pages by execution. */
async function writeReports(world: World, scenario: Scenario, folder: string): Promise<string[]> {
  const name = scenario.name.replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  const reports = await readReports(world.account.ports.reports, scenario.rack);
  return reports.map((report) => writeReport(join(folder, name), report));
}

interface Printing {
  json: boolean;
  pages: readonly string[];
  afterWatch: boolean;
}

function print(scenario: Scenario, result: RunResult, { json, pages, afterWatch }: Printing): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const lines = [
    ...(afterWatch ? [''] : []),
    summaryText(scenario, result),
    '',
    ...(pages.length === 0 ? [] : [`Report: ${pages.join(', ')}`]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Says on standard error what is not as it should be, and gives the exit code. */
function verdict(scenario: Scenario, result: RunResult): number {
  const broken = result.violations.map(
    ({ invariant, at, what }) => `invariant ${invariant} broken at ${at}: ${what}`,
  );
  const differing = scenario.expect === undefined ? [] : differences(scenario.expect, result);
  for (const line of [...broken, ...differing.map((difference) => `not as expected: ${difference}`)]) {
    process.stderr.write(`${alarm(line)}\n`);
  }
  if (broken.length + differing.length > 0) return exitCodes.differs;
  return exitCodes.done;
}

function wholeNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('accepted: a whole number.');
  return Number(text);
}
