import { Argument, Command, Option } from 'commander';
import { decide, type Decision } from '../../rollout/desired.ts';
import { isKey, parameters, type Group } from '../../rollout/parameters.ts';
import type { StoredParameter } from '../../rollout/ports.ts';
import type { Deployment } from '../deployment.ts';
import { CommandFailure } from '../failure.ts';
import { readAssignments, requireKey, type Assignment } from '../assignments.ts';
import { openSource, type Source, type SourceOptions } from '../source.ts';
import { changesText, decisionText, parametersText } from '../view/parameters.ts';
import { answers, printJson, printText } from './common.ts';

type Options = SourceOptions & { json?: boolean; group?: Group };

const groups: readonly Group[] = ['security', 'build', 'karpenter', 'rollout'];

const examples = `
Examples:
  imds-rollout params list -r demo -g security
  imds-rollout params get imds_http_tokens -r demo
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
      .description('Lists what is stored.')
      .addOption(new Option('-g, --group <group>', 'only one group').choices(groups))
      .addHelpText('after', '\nExample:\n  imds-rollout params list -g rollout -r demo')
      .action(list),
  );
  command.addCommand(
    answers(new Command('get'))
      .description('Prints the stored value of one parameter.')
      .addArgument(new Argument('<key>', 'the parameter'))
      .addHelpText('after', '\nExample:\n  imds-rollout params get imds_http_tokens -r demo')
      .action(get),
  );
  command.addCommand(
    answers(new Command('set'))
      .description(
        'Sets parameters, after the service’s own validation. An empty value deletes. Of a scenario it only says so.',
      )
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
  const found = (await stored(source)).filter(
    ({ key }) =>
      group === undefined || (isKey(key) && (parameters[key].groups as readonly Group[]).includes(group)),
  );
  if (options.json) {
    printJson(found);
    return;
  }
  if (found.length === 0) {
    process.stderr.write(
      `nothing is set${group === undefined ? '' : ` in group ${group}`} on rack ${source.rack}\n`,
    );
    return;
  }
  printText(parametersText(found));
}

async function get(text: string, options: Options): Promise<void> {
  const key = requireKey(text);
  const source = await openSource(options);
  const found = (await stored(source)).find((parameter) => parameter.key === key);
  if (options.json) {
    printJson(found ?? null);
    return;
  }
  if (found === undefined) {
    throw new CommandFailure(
      `${key} is not set on rack ${source.rack}; without it: ${parameters[key].fallback}`,
    );
  }
  printText(found.value);
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
  const decision = decideAfter(before, assignments, source);
  const { rack, deployment } = source;
  if (deployment !== undefined) await write(deployment, rack, assignments);
  const written = deployment !== undefined;
  if (options.json) {
    const changes = assignments.map(({ key, value }) => ({ key, value: value ?? null }));
    printJson({ rack, written, changes, decision });
    return;
  }
  printText(changesText({ rack, before, assignments, written }));
  for (const { key, value } of assignments) {
    if (value === undefined && !before.some((one) => one.key === key))
      process.stderr.write(`${key} is not set: there is nothing to delete\n`);
  }
  printText(decisionText(decision, written));
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

/** What the rack would ask for then. What the service would refuse is refused here, before anything is written. */
function decideAfter(
  before: readonly StoredParameter[],
  assignments: readonly Assignment[],
  { ports }: Source,
): Decision {
  const written = new Set<string>(assignments.map(({ key }) => key));
  const date = ports.clock.now().toISOString();
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
