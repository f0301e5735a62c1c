import { Argument, Command, Option } from 'commander';
import type { DeploymentOptions } from '../deployment.ts';
import { addRack } from '../rack/add.ts';
import type { Choice } from '../rack/hand-over.ts';
import { listRacks, racksText } from '../rack/racks.ts';
import { removeRack } from '../rack/remove.ts';
import { openDeployment } from '../source.ts';
import { findsDeployment, printJson, printText, sayAloud } from './common.ts';

const marks = `
Each line begins with what was done: = was so already, + made, ~ changed, - removed, ! somebody has to look,
? cannot be told from here.`;

/** Registers racks. */
export function rackCommand(): Command {
  const command = new Command('rack')
    .summary('register a rack, list the racks, remove one')
    .description(
      'The racks that the service looks after: a cluster, and the NodePool whose nodes run Builds.',
    );
  command.addCommand(addCommand());
  command.addCommand(listCommand());
  command.addCommand(removeCommand());
  return command;
}

const addCommand = (): Command =>
  findsDeployment(new Command('add'))
    .description(
      'Gives the functions access to the cluster, with what keeps them to their writes, and registers the rack.',
    )
    .addArgument(new Argument('<rack>', 'the rack, as in the names of its parameters'))
    .requiredOption('--cluster <name>', 'its EKS cluster')
    .option('--pool <name>', 'the NodePool whose nodes run Builds', 'build')
    .option('--dry-run', 'say what would be done; the cluster tries it without storing it')
    .addHelpText(
      'after',
      `${marks}\n\nExamples:\n  imds-rollout rack add demo --cluster demo --dry-run\n  imds-rollout rack add demo --cluster demo\n\nCan be run again at any time: what is there already is left as it is.`,
    )
    .action(add);

const listCommand = (): Command =>
  findsDeployment(new Command('list'))
    .description('Lists the registered racks, and how their last rollouts ended.')
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', '\nExample:\n  imds-rollout rack list')
    .action(list);

const removeCommand = (): Command =>
  findsDeployment(new Command('remove'))
    .description('Hands back what the service owns, takes away what rack add made, and forgets the rack.')
    .addArgument(new Argument('<rack>', 'the rack'))
    .addOption(
      new Option('--baseline', 'the class goes back to what it said before the service').conflicts('keep'),
    )
    .addOption(new Option('--keep', 'the class keeps what it says now').conflicts('baseline'))
    .option('--dry-run', 'say what would be done')
    .addHelpText(
      'after',
      `${marks}\n\nExamples:\n  imds-rollout rack remove demo --keep --dry-run\n  imds-rollout rack remove demo --keep\n\nRefuses while a rollout runs, and where a running Build would be lost. Can be run again after it was stopped.`,
    )
    .action(remove);

type AddOptions = DeploymentOptions & { cluster: string; pool: string; dryRun?: boolean };

async function add(rack: string, options: AddOptions): Promise<void> {
  const dryRun = announced(options.dryRun);
  const { cluster, pool: nodePool } = options;
  await addRack(await openDeployment(options), { rack, cluster, nodePool, dryRun }, sayAloud);
  if (dryRun) return;
  printText(`Rack ${rack} is registered. Next: imds-rollout doctor -r ${rack}`);
}

async function list(options: DeploymentOptions & { json?: boolean }): Promise<void> {
  const deployment = await openDeployment(options);
  const racks = await listRacks(deployment);
  if (options.json) printJson(racks);
  else if (racks.length > 0) printText(racksText(racks));
  else {
    process.stderr.write(
      `no rack is registered with stack ${deployment.stack} in ${deployment.region}; register one: imds-rollout rack add RACK --cluster CLUSTER\n`,
    );
  }
}

type RemoveOptions = DeploymentOptions & { baseline?: boolean; keep?: boolean; dryRun?: boolean };

async function remove(rack: string, options: RemoveOptions): Promise<void> {
  const dryRun = announced(options.dryRun);
  const choice: Choice | undefined = options.baseline ? 'baseline' : options.keep ? 'keep' : undefined;
  await removeRack(await openDeployment(options), { rack, choice, dryRun }, sayAloud);
  if (!dryRun) printText(`Rack ${rack} is removed.`);
}

function announced(dryRun = false): boolean {
  if (dryRun) printText('Nothing is written (--dry-run). This would be done:');
  return dryRun;
}
