import { Command } from 'commander';
import { DECISION_REASON_LENGTH, isHash } from '../../rollout/approval.ts';
import { CommandFailure } from '../failure.ts';
import { requireRegistration } from '../rack/racks.ts';
import { openSource, type Source, type SourceOptions } from '../source.ts';
import { questionText } from '../view/approval.ts';
import { answers, printJson, printText } from './common.ts';

type Options = SourceOptions & { json?: boolean; hash?: string; reason: string };
type Decision = 'approved' | 'rejected';

/** Lets the rollout that waits for a person go on. */
export function approveCommand(): Command {
  return decides(new Command('approve'), 'approved')
    .summary('let the rollout go on that waits for approval')
    .description(
      'Approves the change that a rollout of the rack waits with, in your name: your identity is proved to the service.',
    );
}

/** Ends the rollout that waits for a person. */
export function rejectCommand(): Command {
  return decides(new Command('reject'), 'rejected')
    .summary('end the rollout that waits for approval')
    .description(
      'Rejects the change that a rollout of the rack waits with, in your name. It ends Rejected, and nothing is changed.',
    );
}

function decides(command: Command, decision: Decision): Command {
  const name = command.name();
  return answers(command)
    .requiredOption('--reason <text>', 'why; it is in the report, in the notice and on record')
    .option('--hash <hash>', 'what it is about, as the notice and status say (default: what waits now)')
    .addHelpText(
      'after',
      `\nExample:\n  imds-rollout ${name} -r demo --reason "asked for in CHG-1234"\n\nWhat is ${decision} is printed before.`,
    )
    .action((options: Options) => run(decision, options));
}

async function run(decision: Decision, options: Options): Promise<void> {
  const { reason } = options;
  refuseMistyped(options);
  const source = await openSource(options);
  const { rack, deployment } = source;
  if (deployment !== undefined) await requireRegistration(deployment, rack);
  const hash = await hashMeant(source, options);
  const answer = await source.decide({ rack, hash, decision, reason });
  if ('refused' in answer) throw new CommandFailure(answer.refused);
  if (options.json) printJson(answer);
  else {
    const next = decision === 'approved' ? `Follow it: imds-rollout watch -r ${rack}` : 'It ends Rejected.';
    const then = deployment === undefined ? 'A scenario is only played, so nothing of it is kept.' : next;
    printText(`\n${answer.hash} ${answer.decision} by ${answer.by}. ${then}`);
  }
}

/** What is wrong in the words themselves is said before anybody is asked anything. */
function refuseMistyped({ reason, hash }: Options): void {
  if (reason.trim() === '' || reason.length > DECISION_REASON_LENGTH) {
    throw new CommandFailure(
      `--reason ${reason.trim() === '' ? 'is empty' : `has ${String(reason.length)} characters`}: give 1 to ${String(DECISION_REASON_LENGTH)} characters that say why`,
    );
  }
  if (hash !== undefined && !isHash(hash)) {
    throw new CommandFailure(
      `--hash ${JSON.stringify(hash)} is not accepted; accepted: the 12 characters 0-9 and a-f that the notice and imds-rollout status say`,
    );
  }
}

/**
 * What the decision is about; what stands is printed. Whether it still waits, the function knows: the one whose command
 * broke off may give it again, with the hash, and hears what came of it.
 */
async function hashMeant({ ports, rack }: Source, { hash, json }: Options): Promise<string> {
  const { awaiting, last } = await ports.approvals.read(rack);
  if (awaiting !== undefined && !json) printText(questionText(awaiting));
  const meant = hash ?? awaiting?.hash;
  if (meant !== undefined) return meant;
  const before = last && `; ${last.hash} was ${last.decision} by ${last.by} at ${last.at}`;
  throw new CommandFailure(`no rollout of rack ${rack} waits for approval${before ?? ''}`);
}
