import { Command, InvalidArgumentError } from 'commander';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { watchWorld } from '../../simulator/invariants/watch-world.ts';
import type { RunResult } from '../../simulator/run/result.ts';
import { runScenario } from '../../simulator/run/run.ts';
import type { World } from '../../simulator/run/world.ts';
import { differences } from '../../simulator/scenario/expect.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { exitCodes } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { fileTrouble } from '../file-trouble.ts';
import { readRack } from '../forecast/read.ts';
import { readReports, writeReport } from '../reports.ts';
import { readScenario } from '../scenario-file.ts';
import { openSource, type SourceOptions } from '../source.ts';
import { alarm } from '../view/style.ts';
import { summaryText } from '../view/summary.ts';
import { createWatcher } from '../watch.ts';
import { findsDeployment } from './common.ts';

interface Options extends SourceOptions {
  fromLive?: string;
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
  imds-rollout simulate --from-live rack.yaml -r demo   what comes of the rack as it is now; rack.yaml can be played again

Ends with 0 if no invariant is broken and everything is as the scenario expects, with 2 if not, with 1 on an error.`;

/** Plays a scenario with the real functions and the real workflow in virtual time. */
export function simulateCommand(): Command {
  return findsDeployment(new Command('simulate'))
    .summary('play a scenario with the real functions and workflow, in virtual time')
    .description(
      'Plays a scenario file with the real functions and the real workflow on a simulated account and cluster. ' +
        'With --from-live it first writes the file, from a rack and its cluster as they are now, and only reads there.',
    )
    .argument('[file]', 'the scenario (YAML)')
    .option('--json', 'print the result as one JSON object and nothing else')
    .option('--seed <number>', 'drives every random delay (default: what the scenario says)', wholeNumber)
    .option('--from-live <file>', 'write the rack as it is now to this new file, and play it')
    .option('-r, --rack <rack>', 'with --from-live: the rack (default: the only one there is)')
    .option('--scenario <file>', 'with --from-live: from a played scenario in the place of an account')
    .option('--at <duration>', 'with --scenario: at which moment of it, e.g. 12m (default: its end)')
    .option('--watch', 'show what happens while it is played')
    .option('--report <folder>', 'where the reports are written (default: out; with --json none are)')
    .addHelpText('after', examples)
    .action(simulate);
}

async function simulate(given: string | undefined, options: Options): Promise<void> {
  const scenario = readScenario(await fileOf(given, options));
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

/** The file to play, which is written first where it comes from a rack. */
async function fileOf(given: string | undefined, options: Options): Promise<string> {
  const { fromLive } = options;
  if (fromLive === undefined) {
    const beside = LIVE_ONLY.find((name) => options[name] !== undefined);
    if (beside !== undefined) throw new CommandFailure(`--${beside} goes with --from-live FILE`);
    if (given === undefined)
      throw new CommandFailure(
        'which scenario? Give a file, or --from-live FILE to write one from a rack as it is now',
      );
    return given;
  }
  if (given !== undefined)
    throw new CommandFailure(`--from-live writes ${fromLive} and plays it: ${given} is one file too many`);
  const { rack, ports, planReads } = await openSource(options);
  const read = await readRack({ rack, ports, reads: planReads });
  if ('missing' in read) throw new CommandFailure(`there is nothing to play: ${read.missing}`);
  try {
    // Whatever is there already is somebody's work.
    writeFileSync(fromLive, read.text, { flag: 'wx' });
  } catch (error) {
    if (existsSync(fromLive))
      throw new CommandFailure(`${fromLive} exists already: give the name of a file that does not`);
    throw new CommandFailure(`cannot write ${fromLive}: ${fileTrouble(error)}`);
  }
  const left = read.couldNotExpress.map((what) => `left out: ${what}`);
  process.stderr.write(`${[`written to ${fromLive}`, ...left].join('\n')}\n`);
  return fromLive;
}

const LIVE_ONLY = ['rack', 'scenario', 'at', 'stack', 'region', 'profile'] as const;

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
