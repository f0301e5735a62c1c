/** Options that several commands share. */
import type { Command } from 'commander';

/** Adds `--scenario`, `--at`, `-r/--rack` and `--json` to a command that answers from a moment. */
export function answersFromMoment(command: Command): Command {
  return command
    .option('--scenario <file>', 'answer from a played scenario')
    .option('--at <duration>', 'at which moment of it, e.g. 12m (default: its end)')
    .option('-r, --rack <rack>', 'the rack (default: the rack of the scenario)')
    .option('--json', 'print JSON and nothing else');
}

/** One JSON object on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Text on standard output. */
export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}
