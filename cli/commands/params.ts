import { Argument, Command, Option } from 'commander';
import { decide, type Decision } from '../../rollout/desired.ts';
import { parameters, POLICY_PREFIX, type Group } from '../../rollout/parameters.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Deployment } from '../deployment.ts';
import { effectiveParameters } from '../effective.ts';
import { exitCodes } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { foresee, type Foreseen } from '../foresee.ts';
import { readAssignments, requireKey, type Assignment } from '../assignments.ts';
import { openSource, type Source, type SourceOptions } from '../source.ts';
import { changesText, decisionText, foreseenText, historyText, parametersText } from '../view/parameters.ts';
import { answers, printJson, printText } from './common.ts';

type Options = SourceOptions & { json?: boolean; group?: Group; anyway?: boolean };

const ANYWAY = 'write it although a rollout of it would be refused now';

const groups: readonly Group[] = ['security', 'build', 'karpenter', 'rollout'];

const examples = `
Examples:
  imds-rollout params list -r demo -g security
  imds-rollout params get imds_http_tokens -r demo
  imds-rollout params history imds_http_tokens -r demo
  imds-rollout params set karpenter_build_imds_tokens=required karpenter_build_imds_hop_limit=1 -r demo
  imds-rollout params set imds_http_tokens= -r demo      deletes it`;

/** Reads parameters, and says what writing them would mean, with the service's own validation. */
export function paramsCommand(): Command {
  const command = new Command('params')
    .summary('read and write the parameters of a rack')
    .description('The parameters of a rack below its prefix in Parameter Store.')
    .addHelpText('after', examples);
  command.addCommand(
    answers(new Command('list'))
      .description(
        'Lists every parameter: what is stored, what counts, and where that comes from. Ends with 1 where a value is refused.',
      )
      .addOption(new Option('-g, --group <group>', 'only one group').choices(groups))
      .addHelpText('after', '\nExample:\n  imds-rollout params list -g rollout -r demo')
      .action(list),
  );
  command.addCommand(
    answers(new Command('get'))
      .description(
        'Prints the stored value of one parameter. Ends with 1 where it is not set; with --json it prints null as well.',
      )
      .addArgument(new Argument('<key>', 'the parameter'))
      .addHelpText('after', '\nExample:\n  imds-rollout params get imds_http_tokens -r demo')
      .action(get),
  );
  command.addCommand(
    answers(new Command('history'))
      .description(
        'Lists who wrote what into a parameter, and when. What is deleted has no history any more.',
      )
      .addArgument(new Argument('<key>', 'the parameter'))
      .addHelpText('after', '\nExample:\n  imds-rollout params history imds_http_tokens -r demo')
      .action(history),
  );
  command.addCommand(
    answers(new Command('set'))
      .description(
        'Sets parameters, after the service’s own validation. An empty value deletes. Of a scenario it only says so.',
      )
      .option('--anyway', ANYWAY)
      .addArgument(new Argument('<key=value...>', 'what to set'))
      .addHelpText(
        'after',
        '\nExamples:\n  imds-rollout params set imds_http_tokens=required -r demo\n  imds-rollout params set imds_http_tokens=required --scenario scenario.yaml',
      )
      .action(set),
  );
  command.addCommand(
    answers(new Command('unset'))
      .description('Deletes parameters, and says what that means. Of a scenario it only says so.')
      .option('--anyway', ANYWAY)
      .addArgument(new Argument('<key...>', 'what to delete'))
      .addHelpText('after', '\nExample:\n  imds-rollout params unset imds_http_tokens -r demo')
      .action(unset),
  );
  return command;
}

const stored = ({ ports, rack }: Source): Promise<StoredParameter[]> => ports.parameters.list(rack);

async function list(options: Options): Promise<void> {
  const source = await openSource(options);
  const { group } = options;
  const found = await stored(source);
  const rows = effectiveParameters(found, group);
  const decision = decide(found, true);
  // What a rollout would be refused for is an error here too, for whoever goes by the exit code.
  if (decision.kind === 'refused') process.exitCode = exitCodes.error;
  if (options.json) {
    printJson(rows);
    return;
  }
  printText(parametersText(rows));
  if (rows.every((row) => row.stored === null)) {
    process.stderr.write(
      `nothing is set${group === undefined ? '' : ` in group ${group}`} on rack ${source.rack}\n`,
    );
  }
  printText(decisionText(decision, true));
}

async function get(text: string, options: Options): Promise<void> {
  const key = requireKey(text);
  const source = await openSource(options);
  const found = (await stored(source)).find((parameter) => parameter.key === key);
  if (options.json) printJson(found ?? null);
  else if (found !== undefined) printText(found.value);
  if (found === undefined) {
    throw new CommandFailure(
      `${key} is not set on rack ${source.rack}; without it: ${parameters[key].fallback}`,
    );
  }
}

async function history(text: string, options: Options): Promise<void> {
  const key = requireKey(text);
  const { ports, rack } = await openSource(options);
  const versions = await ports.parameters.history(rack, key);
  if (options.json) printJson(versions);
  else if (versions.length > 0) printText(historyText(versions));
  if (versions.length === 0) {
    throw new CommandFailure(
      `${key} is not set on rack ${rack}: Parameter Store keeps no history of what is deleted`,
    );
  }
}

async function set(texts: string[], options: Options): Promise<void> {
  await change(readAssignments(texts), options);
}

async function unset(texts: string[], options: Options): Promise<void> {
  await change(
    texts.map((text) => ({ key: requireKey(text), value: undefined })),
    options,
  );
}

async function change(assignments: readonly Assignment[], options: Options): Promise<void> {
  const source = await openSource(options);
  const before = await stored(source);
  refuseTypes(before, assignments);
  const after = storedAfter(before, assignments, source);
  const decision = decideAfter(after);
  const foreseen = await foresee(source, after);
  refuseForeseen(source.rack, foreseen, assignments, options);
  const { rack, deployment } = source;
  if (deployment !== undefined) await write(deployment, rack, assignments);
  const written = deployment !== undefined;
  if (options.json) {
    const changes = assignments.map(({ key, value }) => ({ key, value: value ?? null }));
    printJson({ rack, written, changes, decision, foreseen });
    return;
  }
  printText(changesText({ rack, before, assignments, written }));
  for (const { key, value } of assignments) {
    if (value === undefined && !before.some((one) => one.key === key))
      process.stderr.write(`${key} is not set: there is nothing to delete\n`);
  }
  printText(decisionText(decision, written));
  if (foreseen.kind !== 'accepted') process.stderr.write(`${foreseenText(foreseen)}\n`);
}

/** A policy alone starts nothing: it may be what is missing, and is written. */
function refuseForeseen(
  rack: string,
  foreseen: Foreseen,
  assignments: readonly Assignment[],
  { anyway, json }: Options,
): void {
  const asks = assignments.some(({ key }) => !key.startsWith(POLICY_PREFIX));
  if (foreseen.kind !== 'refused' || !asks || anyway === true) return;
  if (json) printJson({ rack, written: false, foreseen });
  throw new CommandFailure(`${foreseenText(foreseen)}\nNothing was written; --anyway writes it all the same`);
}

/** Parameter Store never changes a parameter's type, and the service takes Strings alone. */
function refuseTypes(before: readonly StoredParameter[], assignments: readonly Assignment[]): void {
  const refused = assignments.flatMap(({ key, value }) => {
    const type = before.find((one) => one.key === key)?.type;
    return value === undefined || type === undefined || type === 'String'
      ? []
      : [`${key} is stored as a ${type}, whose type Parameter Store never changes`];
  });
  if (refused.length > 0) {
    throw new CommandFailure(`${refused.join('\n')}\nUnset it, wait 30 seconds, and set it again`);
  }
}

/** One after the other: Parameter Store takes few writes a second, and what was written before a failure is said. */
async function write({ store }: Deployment, rack: string, assignments: readonly Assignment[]): Promise<void> {
  const done: string[] = [];
  try {
    for (const { key, value } of assignments) {
      if (value === undefined) await store.unsetParameter(rack, key);
      else await store.setParameter(rack, key, value);
      done.push(key);
    }
  } catch (error) {
    if (done.length > 0) process.stderr.write(`written before the failure: ${done.join(', ')}\n`);
    throw error;
  }
}

/** The parameters as they would be. */
function storedAfter(
  before: readonly StoredParameter[],
  assignments: readonly Assignment[],
  { ports }: Source,
): StoredParameter[] {
  const written = new Set<string>(assignments.map(({ key }) => key));
  const date = ports.clock.now().toISOString();
  return [
    ...before.filter(({ key }) => !written.has(key)),
    ...assignments.flatMap(({ key, value }) =>
      value === undefined
        ? []
        : [{ key, value, type: 'String' as const, version: 1, lastModifiedDate: date }],
    ),
  ];
}

/** What the rack would ask for then. What the service would refuse is refused here, before anything is written. */
function decideAfter(after: readonly StoredParameter[]): Decision {
  const decision = decide(after, true);
  if (decision.kind === 'refused') throw new CommandFailure(decision.refusals.join('\n'));
  return decision;
}
