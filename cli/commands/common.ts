/** Options that several commands share, and how they print. */
import type { Command } from 'commander';
import { DEFAULT_STACK } from '../default-stack.ts';
import { stepText, type Say } from '../step.ts';

/** Adds `-r/--rack`, `--json`, where the deployment is, and `--scenario` and `--at` for a played one in its place. */
export function answers(command: Command): Command {
  return findsDeployment(command.option('-r, --rack <rack>', 'the rack (default: the only one there is)'))
    .option('--scenario <file>', 'answer from a played scenario in the place of an account')
    .option('--at <duration>', 'at which moment of it, e.g. 12m (default: its end)')
    .option('--json', 'print JSON and nothing else');
}

/** Adds where the deployment is. */
export function findsDeployment(command: Command): Command {
  return command
    .option('--stack <name>', `the deployment's CloudFormation stack (default: ${DEFAULT_STACK})`)
    .option('--region <region>', 'its Region (default: of the environment or profile)')
    .option('--profile <name>', 'a profile of the AWS configuration');
}

/** One JSON object on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Text on standard output. */
export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Steps on standard output as they happen. */
export const sayAloud: Say = (mark, what) => {
  printText(stepText(mark, what));
};
