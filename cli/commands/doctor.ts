import { Command } from 'commander';
import { diagnose } from '../doctor/diagnose.ts';
import type { DeploymentOptions } from '../deployment.ts';
import { exitCodes } from '../exit-codes.ts';
import { openDeployment } from '../source.ts';
import { diagnosesText } from '../view/doctor.ts';
import { findsDeployment, printJson, printText } from './common.ts';

type Options = DeploymentOptions & { rack?: string; json?: boolean };

const examples = `
Examples:
  imds-rollout doctor               the deployment and every rack
  imds-rollout doctor -r demo

It reads, and has the cluster try out what is to be written without storing it. What only the functions could try is
unknown. Ends with 0 where there is no problem, with 1 where there is one.`;

/** Names every precondition. */
export function doctorCommand(): Command {
  return findsDeployment(new Command('doctor').option('-r, --rack <rack>', 'the rack (default: all)'))
    .summary('name every precondition, how it stands and what to do')
    .description('Looks at everything that a rollout needs, and says of each how it stands and what to do.')
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', examples)
    .action(doctor);
}

async function doctor(options: Options): Promise<void> {
  const diagnoses = await diagnose(await openDeployment(options), options.rack);
  if (options.json) printJson(diagnoses);
  else printText(diagnosesText(diagnoses));
  const hasProblem = diagnoses.some(({ checks }) => checks.some(({ state }) => state === 'problem'));
  process.exitCode = hasProblem ? exitCodes.error : exitCodes.done;
}
