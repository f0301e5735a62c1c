#!/usr/bin/env node
/** The command imds-rollout: parses, calls, prints. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { ScenarioError } from '../simulator/scenario/load.ts';
import { explain } from './account/explain.ts';
import { approveCommand, rejectCommand } from './commands/decide.ts';
import { doctorCommand } from './commands/doctor.ts';
import { paramsCommand } from './commands/params.ts';
import { planCommand } from './commands/plan.ts';
import { rackCommand } from './commands/rack.ts';
import { reportCommand } from './commands/report.ts';
import { retryCommand } from './commands/retry.ts';
import { simulateCommand } from './commands/simulate.ts';
import { statusCommand } from './commands/status.ts';
import { watchCommand } from './commands/watch.ts';
import { exitCodes } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import { fileTrouble } from './file-trouble.ts';

const examples = `
Examples:
  imds-rollout rack add demo --cluster demo
  imds-rollout doctor -r demo
  imds-rollout params set karpenter_build_imds_tokens=required -r demo
  imds-rollout watch -r demo
  imds-rollout simulate test/scenarios/default.yaml      the same without an account

Ends with 0 when done, with 1 on an error, with 2 when plan finds changes or simulate is not as expected.`;

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')));

const program = new Command('imds-rollout')
  .version(version)
  .description(
    'Rolls instance-metadata (IMDS) options out to the build nodes of Karpenter clusters without losing a running Build.',
  )
  .addHelpText('after', examples)
  .addCommand(rackCommand())
  .addCommand(doctorCommand())
  .addCommand(paramsCommand())
  .addCommand(planCommand())
  .addCommand(statusCommand())
  .addCommand(watchCommand())
  .addCommand(reportCommand())
  .addCommand(approveCommand())
  .addCommand(rejectCommand())
  .addCommand(retryCommand())
  .addCommand(simulateCommand());

hintAtHelp(program, program.name());

/** A mistake in the words of the command says where they are explained. */
function hintAtHelp(command: Command, path: string): void {
  command.showHelpAfterError(`See ${path} --help`);
  for (const each of command.commands) hintAtHelp(each, `${path} ${each.name()}`);
}

// Whoever reads may have read enough, as `head` does; any other trouble with the output is said.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`cannot write the output: ${fileTrouble(error)}\n`);
  process.exit(exitCodes.error);
});

try {
  await program.parseAsync();
} catch (thrown) {
  const error = explain(thrown);
  process.exitCode = exitCodes.error;
  // What is said on purpose needs no stack; anything else is a fault of ours, which the stack helps to find.
  const isKnown = error instanceof CommandFailure || error instanceof ScenarioError;
  const text =
    error instanceof Error ? (isKnown ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`${text}\n`);
}
