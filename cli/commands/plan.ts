/** Command `plan`: what a rollout would do now, and what that means, for whoever has to approve it. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { fileTrouble } from '../file-trouble.ts';
import { DEFAULT_RUNS, type Runs } from '../forecast/runs.ts';
import { explainPlan } from '../plan/explain.ts';
import type { Explanation } from '../plan/explanation.ts';
import { openSource, type SourceOptions } from '../source.ts';
import { htmlText, markdownText, terminalText } from '../view/document.ts';
import { planDocument } from '../view/plan.ts';
import { answers, printJson, printText } from './common.ts';

const examples = `
Examples:
  imds-rollout plan -r demo
  imds-rollout plan -r demo --markdown
  imds-rollout plan -r demo --html plan.html --days 30
  imds-rollout plan -r demo --forecast 200
  imds-rollout plan --scenario scenario.yaml --at 2m --json

Ends with 0 if nothing would change, with 2 if something would, with 1 if it would be refused or on an error.`;

/** As long as CloudWatch keeps 5-minute data. */
const MOST_DAYS = 63;

/** More say nothing that these do not. */
const MOST_RUNS = 1000;

/** Says what a rollout would do now, and what that means. Reads only. */
export function planCommand(): Command {
  return answers(new Command('plan'))
    .summary('say what a rollout would do now and what it means, from reads alone')
    .description(
      'Says what a rollout of the rack would do now: what is asked and by whom, who can reach IMDS before and after, ' +
        'which workloads gain or lose it, what becomes of each node, what can go wrong, and the way back. ' +
        'With --forecast, what is likely to come of it: how long it takes, which nodes are modified live, which Builds are at risk. ' +
        'What may not be read is named; the rest is said all the same. It reads and writes nothing.',
    )
    .option('--markdown', 'print Markdown, for a ticket')
    .option('--html <file>', 'write a page to the file, for a ticket')
    .option('--days <days>', `how far back to ask CloudWatch for IMDSv1, 1 to ${String(MOST_DAYS)}`, '14')
    .option(
      '--forecast [runs]',
      `play what may come on the simulator so many times, 2 to ${String(MOST_RUNS)} (default: ${String(DEFAULT_RUNS)})`,
    )
    .option('--seed <number>', 'with --forecast: drives what is drawn', '1')
    .addHelpText('after', examples)
    .action(plan);
}

interface PlanOptions extends SourceOptions {
  json?: boolean;
  markdown?: boolean;
  html?: string;
  days: string;
  /** True where no number is given. */
  forecast?: string | true;
  seed: string;
}

async function plan(options: PlanOptions): Promise<void> {
  const days = daysOf(options.days);
  if (options.json && options.markdown) {
    throw new CommandFailure('--json and --markdown both print: give one of the two');
  }
  const runs = runsOf(options);
  const { rack, ports, planReads } = await openSource(options);
  const explained = await explainPlan({
    rack,
    ports,
    reads: planReads,
    days,
    ...(runs !== undefined && { forecast: runs }),
  });
  print(explained, options);
  process.exitCode = exitCodeOf(explained);
  const { outcome, reason } = explained;
  if (process.exitCode === exitCodes.error) throw new CommandFailure(`${outcome ?? ''}: ${reason ?? ''}`);
}

function daysOf(text: string): number {
  const days = Number(text);
  if (/^[1-9]\d*$/.test(text) && days <= MOST_DAYS) return days;
  throw new CommandFailure(
    `--days ${JSON.stringify(text)} is not accepted; accepted: a whole number from 1 to ${String(MOST_DAYS)}, as long as CloudWatch keeps what EC2 counts`,
  );
}

/** How often a forecast plays; undefined where none is wanted. */
function runsOf({ forecast, seed }: PlanOptions): Runs | undefined {
  if (forecast === undefined) return undefined;
  if (!/^-?\d{1,9}$/.test(seed))
    throw new CommandFailure(`--seed ${JSON.stringify(seed)} is not accepted; accepted: a whole number`);
  if (forecast === true) return { runs: DEFAULT_RUNS, seed: Number(seed) };
  const runs = Number(forecast);
  if (/^[1-9]\d*$/.test(forecast) && runs >= 2 && runs <= MOST_RUNS) return { runs, seed: Number(seed) };
  throw new CommandFailure(
    `--forecast ${JSON.stringify(forecast)} is not accepted; accepted: a whole number from 2 to ${String(MOST_RUNS)}`,
  );
}

/** Nothing on standard output where there is nothing to say but the refusal, which goes to standard error. */
function print(explained: Explanation, { json, markdown, html }: PlanOptions): void {
  const document = planDocument(explained);
  if (html !== undefined) writePage(html, htmlText(document));
  if (json) printJson(explained);
  else if (markdown) printText(markdownText(document));
  else if (exitCodeOf(explained) !== exitCodes.error || explained.reach !== null)
    printText(terminalText(document));
}

function writePage(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandFailure(`cannot write ${file}: ${fileTrouble(error)}`);
  }
  process.stderr.write(`written to ${file}\n`);
}

function exitCodeOf({ outcome }: Explanation): number {
  if (outcome === null) return exitCodes.differs;
  return outcome === 'NothingToDo' || outcome === 'Withdrawn' ? exitCodes.done : exitCodes.error;
}
