import { Command } from 'commander';
import { SETTLE_SECONDS } from '../../rollout/naming.ts';
import { retryRollout, StillRunning, type Retried } from '../../rollout/retry.ts';
import { NameTaken } from '../../rollout/start.ts';
import type { SharedPorts } from '../../rollout/ports.ts';
import { CommandFailure } from '../failure.ts';
import { requireRegistration } from '../rack/racks.ts';
import type { DeploymentOptions } from '../deployment.ts';
import { openSource } from '../source.ts';
import { findsDeployment, namesRack, printJson, printText, refusesScenario } from './common.ts';

type Options = DeploymentOptions & { rack?: string; json?: boolean };

const NEEDS_ACCOUNT =
  'It needs an account. In a scenario, `- {at: 10m, command: retry}` in its timeline starts a rollout again.';

const examples = `
Example:
  imds-rollout retry -r demo && imds-rollout watch -r demo

Failed, RolledBack, Contended, Aborted, Rejected, Expired and Refused are not tried again by themselves, since what
decided them may still stand.`;

/** Starts a rollout once more. */
export function retryCommand(): Command {
  return refusesScenario(findsDeployment(namesRack(new Command('retry'))), NEEDS_ACCOUNT)
    .summary('start a rollout although the last one’s outcome was decided')
    .description(
      'Starts a rollout of what the parameters ask for now, although the outcome of the last one was decided.',
    )
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', examples)
    .action(retry);
}

async function retry(options: Options): Promise<void> {
  const { rack, ports, deployment } = await openSource(options);
  if (deployment !== undefined) await requireRegistration(deployment, rack);
  const retried = await retryOrSay(ports, rack);
  if (options.json) printJson(retried);
  else {
    const after = retried.after === null ? '' : ` after ${retried.after}`;
    printText(`Started ${retried.execution}${after}. Follow it: imds-rollout watch -r ${rack}`);
  }
}

async function retryOrSay(ports: SharedPorts, rack: string): Promise<Retried> {
  try {
    return await retryRollout(ports, rack);
  } catch (error) {
    if (error instanceof StillRunning)
      throw new CommandFailure(`${error.message}\nFollow it: imds-rollout watch -r ${rack}`);
    if (error instanceof NameTaken)
      throw new CommandFailure(`${error.message}\nTry again in ${String(SETTLE_SECONDS)} seconds`);
    throw error;
  }
}
