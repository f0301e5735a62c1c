import { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { findReport, reported, writeReport, type Kept } from '../reports.ts';
import { openSource, type Source, type SourceOptions } from '../source.ts';
import { verifyReport } from '../verify.ts';
import { reportText } from '../view/report.ts';
import { answers, printJson, printText } from './common.ts';

type Options = SourceOptions & {
  json?: boolean;
  execution?: string;
  output?: string;
  verify?: boolean;
  sha256?: string;
};

const examples = `
Examples:
  imds-rollout report -r demo
  imds-rollout report -r demo --verify              is it the one that was recorded, and does the account still say so?
  imds-rollout report -r demo --output out          writes JSON and a page to print
  imds-rollout report --scenario scenario.yaml --execution demo-59144403 --json

With --verify it ends with 1 if the report is not the recorded one, with 2 if an instance is no longer as reported.`;

/** The evidence of a rollout. */
export function reportCommand(): Command {
  return answers(new Command('report'))
    .summary('show the evidence of a rollout')
    .description(
      'Shows the report of a rollout: of the last one that decided something, or of a named execution.',
    )
    .option('--execution <name>', 'the report of this execution')
    .option('--output <folder>', 'write it there, as JSON and as a page')
    .option('--verify', "compare it with the record's SHA-256, and its instances with EC2")
    .option('--sha256 <hex>', "for --verify: the SHA-256 in the execution's notice")
    .addHelpText('after', examples)
    .action(report);
}

async function report(options: Options): Promise<void> {
  const source = await openSource(options);
  const kept = await choose(source, options.execution);
  if (options.output !== undefined) {
    process.stderr.write(`written to ${writeReport(options.output, kept.report)}\n`);
  }
  if (options.verify) {
    await verify(source, kept, options);
    return;
  }
  if (options.json) printJson(kept.report);
  else printText(reportText(kept.report));
}

async function choose({ ports: { reports }, rack }: Source, execution: string | undefined): Promise<Kept> {
  const found = await findReport(reports, rack, execution);
  if (found !== undefined) return found;
  const names = await reported(reports, rack);
  throw new CommandFailure(
    execution === undefined
      ? `there is no report of rack ${rack}`
      : `there is no report of ${execution}; there is ${names.slice(0, 5).join(', ') || 'none'}`,
  );
}

async function verify({ ports, rack }: Source, kept: Kept, { json, sha256 }: Options): Promise<void> {
  const found = await verifyReport(ports, rack, kept, sha256?.toLowerCase());
  if (json) printJson(found);
  else {
    printText(`${kept.report.execution}: ${found.recorded.words}`);
    for (const { instanceId, words } of found.instances) printText(`${instanceId}: ${words}`);
  }
  if (!found.recorded.ok) process.exitCode = exitCodes.error;
  else if (found.instances.some(({ ok }) => !ok)) process.exitCode = exitCodes.differs;
}
