import { Command } from 'commander';
import { setTimeout } from 'node:timers/promises';
import type { Outcome } from '../../rollout/record.ts';
import { exitCodes } from '../exit-codes.ts';
import { follow, type Ending } from '../follow.ts';
import { openSource, type SourceOptions } from '../source.ts';
import { changes, sceneText } from '../view/scene-text.ts';
import type { Scene } from '../view/scene.ts';
import { outcomeInColour } from '../view/style.ts';
import { findsDeployment, namesRack, printJson, printText, refusesScenario } from './common.ts';

type Options = SourceOptions & { json?: boolean; execution?: string };

const NEEDS_ACCOUNT =
  'It needs an account. A played scenario is watched with `imds-rollout simulate FILE --watch`.';

const examples = `
Examples:
  imds-rollout watch -r demo
  imds-rollout watch -r demo --json       prints how it ended, and nothing else

Ends when the rollout ends: with 0 for Succeeded, NothingToDo, Superseded and Withdrawn, with 1 for any other outcome.
A played scenario is watched with imds-rollout simulate FILE --watch.`;

/** Follows what happens. */
export function watchCommand(): Command {
  return refusesScenario(findsDeployment(namesRack(new Command('watch'))), NEEDS_ACCOUNT)
    .summary('follow a rollout until it ends')
    .description('Follows the running rollout of a rack until it ends, or says how the last one ended.')
    .option('--execution <name>', 'follow this execution (default: the newest that runs)')
    .option('--json', 'print JSON and nothing else')
    .addHelpText('after', examples)
    .action(watch);
}

/** Each look lists nodes and pods: often enough to follow, seldom enough for the API server. */
const LOOK_EVERY_MS = 5_000;

async function watch(options: Options): Promise<void> {
  const { rack, ports, scene } = await openSource(options);
  const show = options.json ? () => undefined : shower(rack, process.stdout);
  const ending = await follow({
    ports,
    rack,
    ...(options.execution !== undefined && { execution: options.execution }),
    scene,
    show,
    note: (text) => process.stderr.write(`${text}\n`),
    wait: () => setTimeout(LOOK_EVERY_MS),
  });
  if (options.json) printJson(ending);
  else printText(endingText(ending));
  process.exitCode = codeOf(ending);
}

/** How an execution ended, as the command says it. */
export const endingText = ({ execution, outcome, reason }: Ending): string =>
  `${execution}: ${outcomeInColour(outcome)}: ${reason}`;

/** Of the outcomes that end an execution SUCCEEDED. */
const GOOD: readonly Outcome[] = ['Succeeded', 'NothingToDo', 'Superseded', 'Withdrawn'];

export const codeOf = ({ outcome }: Ending): number =>
  outcome !== null && GOOD.includes(outcome) ? exitCodes.done : exitCodes.error;

const clearScreen = '\u001b[H\u001b[2J';

/** On a terminal one screen that is redrawn, elsewhere what changed. */
function shower(rack: string, output: NodeJS.WriteStream): (scene: Scene) => void {
  let before: Scene | undefined;
  return (scene) => {
    if (output.isTTY) output.write(`${clearScreen}${sceneText(scene, `rack ${rack}`)}\n`);
    else for (const line of changes(before, scene)) output.write(`${line}\n`);
    before = scene;
  };
}
