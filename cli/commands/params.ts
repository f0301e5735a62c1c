import { Argument, Command, Option } from 'commander';
import { decide, type Decision } from '../../rollout/desired.ts';
import { isKey, parameters, type Group } from '../../rollout/parameters.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import { CommandFailure } from '../failure.ts';
import { playToMoment, type Moment, type MomentOptions } from '../moment.ts';
import { readAssignments, requireKey, type Assignment } from '../assignments.ts';
import { changesText, decisionText, parametersText } from '../view/parameters.ts';
import { answersFromMoment, printJson, printText } from './common.ts';

type Options = MomentOptions & { json?: boolean; group?: Group };

const groups: readonly Group[] = ['security', 'build', 'karpenter', 'rollout'];

const examples = `
Examples:
  imds-rollout params list -g security --scenario scenario.yaml --at 12m
  imds-rollout params get imds_http_tokens --scenario scenario.yaml
  imds-rollout params set karpenter_build_imds_tokens=required --scenario scenario.yaml
  imds-rollout params set imds_http_tokens= --scenario scenario.yaml      deletes it`;

/** Reads parameters, and says what writing them would mean, with the service's own validation. */
export function paramsCommand(): Command {
  const command = new Command('params')
    .summary('read the parameters of a rack, or say what writing them would do')
    .description('The parameters of a rack below its prefix in Parameter Store.')
    .addHelpText('after', examples);
  command.addCommand(
    answersFromMoment(new Command('list'))
      .description('Lists what is stored.')
      .addOption(new Option('-g, --group <group>', 'only one group').choices(groups))
      .addHelpText('after', '\nExample:\n  imds-rollout params list -g rollout --scenario scenario.yaml')
      .action(list),
  );
  command.addCommand(
    answersFromMoment(new Command('get'))
      .description('Prints the stored value of one parameter.')
      .addArgument(new Argument('<key>', 'the parameter'))
      .addHelpText('after', '\nExample:\n  imds-rollout params get imds_http_tokens --scenario scenario.yaml')
      .action(get),
  );
  command.addCommand(
    answersFromMoment(new Command('set'))
      .description('Says what would be written, after the service’s own validation. An empty value deletes.')
      .addArgument(new Argument('<key=value...>', 'what to set'))
      .addHelpText(
        'after',
        '\nExamples:\n  imds-rollout params set imds_http_tokens=required --scenario scenario.yaml\n  imds-rollout params set imds_http_tokens= --scenario scenario.yaml',
      )
      .action(set),
  );
  command.addCommand(
    answersFromMoment(new Command('unset'))
      .description('Says what would be deleted, and what that would mean.')
      .addArgument(new Argument('<key...>', 'what to delete'))
      .addHelpText(
        'after',
        '\nExample:\n  imds-rollout params unset imds_http_tokens --scenario scenario.yaml',
      )
      .action(unset),
  );
  return command;
}

async function stored(moment: Moment): Promise<StoredParameter[]> {
  return moment.world.account.ports.parameters.list(moment.rack);
}

async function list(options: Options): Promise<void> {
  const moment = await playToMoment(options);
  const { group } = options;
  const found = (await stored(moment)).filter(
    ({ key }) =>
      group === undefined || (isKey(key) && (parameters[key].groups as readonly Group[]).includes(group)),
  );
  if (options.json) {
    printJson(found);
    return;
  }
  if (found.length === 0) {
    process.stderr.write(
      `nothing is set${group === undefined ? '' : ` in group ${group}`} on rack ${moment.rack}\n`,
    );
    return;
  }
  printText(parametersText(found));
}

async function get(text: string, options: Options): Promise<void> {
  const key = requireKey(text);
  const moment = await playToMoment(options);
  const found = (await stored(moment)).find((parameter) => parameter.key === key);
  if (options.json) {
    printJson(found ?? null);
    return;
  }
  if (found === undefined) {
    throw new CommandFailure(
      `${key} is not set on rack ${moment.rack}; without it: ${parameters[key].fallback}`,
    );
  }
  printText(found.value);
}

async function set(texts: string[], options: Options): Promise<void> {
  await propose(readAssignments(texts), options);
}

async function unset(texts: string[], options: Options): Promise<void> {
  await propose(
    texts.map((text) => ({ key: requireKey(text), value: undefined })),
    options,
  );
}

async function propose(assignments: readonly Assignment[], options: Options): Promise<void> {
  const moment = await playToMoment(options);
  const before = await stored(moment);
  const missing = assignments.filter(
    ({ key, value }) => value === undefined && !before.some((one) => one.key === key),
  );
  const decision = decideAfter(before, assignments, moment);
  if (options.json) {
    printJson({
      rack: moment.rack,
      changes: assignments.map(({ key, value }) => ({ key, value: value ?? null })),
      decision,
    });
  } else {
    printText(changesText(moment.rack, before, assignments));
    for (const { key } of missing) process.stderr.write(`${key} is not set: there is nothing to delete\n`);
    printText(decisionText(decision));
  }
}

/** What the rack would ask for then. What the service would refuse is refused here, before anything is written. */
function decideAfter(
  before: readonly StoredParameter[],
  assignments: readonly Assignment[],
  { world }: Moment,
): Decision {
  const written = new Set<string>(assignments.map(({ key }) => key));
  const date = world.clock.now().toISOString();
  const after: StoredParameter[] = [
    ...before.filter(({ key }) => !written.has(key)),
    ...assignments.flatMap(({ key, value }) =>
      value === undefined
        ? []
        : [{ key, value, type: 'String' as const, version: 1, lastModifiedDate: date }],
    ),
  ];
  const decision = decide(after, true);
  if (decision.kind === 'refused') throw new CommandFailure(decision.refusals.join('\n'));
  return decision;
}
