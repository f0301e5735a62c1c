/** Options that several commands share, and how they print. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { DEFAULT_STACK } from '../default-stack.ts';
import { stepText, type Say } from '../step.ts';

/** Of an option's value, which no shell variable may have left empty: `accepted` says what it is. */
const filled =
  (accepted: string) =>
  (text: string): string => {
    if (text.trim() === '') throw new InvalidArgumentError(`It is empty; accepted: ${accepted}.`);
    return text;
  };

const rackName = filled('the name of a registered rack');

/** Adds `-r/--rack`. */
export const namesRack = (command: Command): Command =>
  command.option('-r, --rack <rack>', 'the rack (default: the only one there is)', rackName);

/** Adds `-r/--rack`, `--json`, where the deployment is, and `--scenario` and `--at` for a played one in its place. */
export function answers(command: Command): Command {
  return findsDeployment(namesRack(command))
    .option(
      '--scenario <file>',
      'answer from a played scenario in the place of an account',
      filled('a scenario file'),
    )
    .option(
      '--at <duration>',
      'at which moment of it, e.g. 12m (default: its end)',
      filled('the time since the start, such as 90s, 12m or 1h1m36s'),
    )
    .option('--json', 'print JSON and nothing else');
}

/** Adds where the deployment is. */
export function findsDeployment(command: Command): Command {
  return command
    .option(
      '--stack <name>',
      `the deployment's CloudFormation stack (default: ${DEFAULT_STACK})`,
      filled('the name of a stack'),
    )
    .option(
      '--region <region>',
      'its Region (default: of the environment or profile)',
      filled('a Region, such as eu-central-1'),
    )
    .option('--profile <name>', 'a profile of the AWS configuration', filled('the name of a profile'));
}

/**
 * Adds `--scenario` to a command that has nothing to say of one, so that whoever gives it hears `why` and not that there
 * is no such option.
 */
export function refusesScenario(command: Command, why: string): Command {
  const option = new Option('--scenario <file>').hideHelp().argParser(() => {
    throw new InvalidArgumentError(why);
  });
  return command.addOption(option);
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
