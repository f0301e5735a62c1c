import { Command } from 'commander';
import type { Report } from '../../rollout/report.ts';
import { CommandFailure } from '../failure.ts';
import { playToMoment, type MomentOptions } from '../moment.ts';
import { readReports, writeReport } from '../reports.ts';
import { reportText } from '../view/report.ts';
import { answersFromMoment, printJson, printText } from './common.ts';

type Options = MomentOptions & { json?: boolean; execution?: string; output?: string };

const examples = `
Examples:
  imds-rollout report --scenario scenario.yaml
  imds-rollout report --scenario scenario.yaml --execution demo-59144403 --json
  imds-rollout report --scenario scenario.yaml --output out       writes JSON and a page to print`;

/** The evidence of a rollout. */
export function reportCommand(): Command {
  return answersFromMoment(new Command('report'))
    .summary('show the evidence of a rollout')
    .description(
      'Shows the report of a rollout: of the last one that decided something, or of a named execution.',
    )
    .option('--execution <name>', 'the report of this execution')
    .option('--output <folder>', 'write it there, as JSON and as a page')
    .addHelpText('after', examples)
    .action(report);
}

async function report(options: Options): Promise<void> {
  const moment = await playToMoment(options);
  const reports = await readReports(moment.world.account.ports.reports, moment.rack);
  const found = choose(reports, options.execution, moment.rack);
  if (options.json) printJson(found);
  else printText(reportText(found));
  if (options.output === undefined) return;
  const page = writeReport(options.output, found);
  process.stderr.write(`written to ${page}\n`);
}

/** Named, or the last one that decided something, or the last. */
function choose(reports: readonly Report[], execution: string | undefined, rack: string): Report {
  const names = reports.map((one) => one.execution);
  if (execution !== undefined) {
    const named = reports.find((one) => one.execution === execution);
    if (named) return named;
    throw new CommandFailure(`there is no report of ${execution}; there is ${names.join(', ') || 'none'}`);
  }
  const decisive = reports.findLast(({ outcome }) => outcome !== 'NothingToDo' && outcome !== 'Superseded');
  const last = decisive ?? reports.at(-1);
  if (last === undefined) throw new CommandFailure(`there is no report of rack ${rack} at that moment`);
  return last;
}
