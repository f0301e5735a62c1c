#!/usr/bin/env node
/** The command imds-rollout: parses, calls, prints. */
import { Command } from 'commander';
import { ScenarioError } from '../simulator/scenario/load.ts';
import { paramsCommand } from './commands/params.ts';
import { planCommand } from './commands/plan.ts';
import { reportCommand } from './commands/report.ts';
import { simulateCommand } from './commands/simulate.ts';
import { statusCommand } from './commands/status.ts';
import { exitCodes } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';

const examples = `
Examples:
  imds-rollout simulate test/scenarios/default.yaml
  imds-rollout plan --scenario test/scenarios/default.yaml --at 2m
  imds-rollout params set karpenter_build_imds_tokens=required --scenario test/scenarios/default.yaml

Ends with 0 when done, with 1 on an error, with 2 when plan finds changes or simulate is not as expected.`;

const program = new Command('imds-rollout')
  .description(
    'Rolls instance-metadata (IMDS) options out to the build nodes of Karpenter clusters without losing a running Build.',
  )
  .addHelpText('after', examples)
  .addCommand(simulateCommand())
  .addCommand(paramsCommand())
  .addCommand(planCommand())
  .addCommand(statusCommand())
  .addCommand(reportCommand());

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodes.error;
  // What is said on purpose needs no stack; anything else is a fault of ours, which the stack helps to find.
  const isKnown = error instanceof CommandFailure || error instanceof ScenarioError;
  const text =
    error instanceof Error ? (isKnown ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`${text}\n`);
}
