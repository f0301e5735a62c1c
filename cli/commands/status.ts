import { Command } from 'commander';
import { decide } from '../../rollout/desired.ts';
import { owned } from '../../rollout/options.ts';
import { openSource, type Source, type SourceOptions } from '../source.ts';
import { statusText, type Status } from '../view/status.ts';
import { answers, printJson, printText } from './common.ts';

const examples = `
Examples:
  imds-rollout status -r demo
  imds-rollout status --scenario scenario.yaml --at 12m
  imds-rollout status --scenario scenario.yaml --at 12m --json`;

/** Says how a rack stands. */
export function statusCommand(): Command {
  return answers(new Command('status'))
    .summary('say how a rack stands: what is asked, what runs, what is held')
    .description(
      'Says how a rack stands: what is asked, the class, each build node, what runs, what it waits for.',
    )
    .addHelpText('after', examples)
    .action(status);
}

async function status(options: SourceOptions & { json?: boolean }): Promise<void> {
  const found = await read(await openSource(options));
  if (options.json) printJson(found);
  else printText(statusText(found));
}

async function read({ rack, ports, scene }: Source): Promise<Status> {
  const { parameters, records } = ports;
  const [stored, record, approval] = await Promise.all([
    parameters.list(rack),
    records.read(rack),
    ports.approvals.read(rack),
  ]);
  const { awaiting } = approval;
  const waits = awaiting && (await ports.workflow.describe(awaiting.execution))?.status === 'RUNNING';
  const decision = decide(stored, owned(record.baseline).length > 0);
  return {
    rack,
    asks:
      decision.kind === 'asks'
        ? { kind: 'asks', ask: decision.ask, why: null }
        : { kind: decision.kind, ask: null, why: whyNothing(decision) },
    last: record.last ?? null,
    awaits: waits === true ? awaiting : null,
    holdsMayExist: record.holdsMayExist,
    scene: await scene(),
  };
}

function whyNothing(decision: Exclude<ReturnType<typeof decide>, { kind: 'asks' }>): string {
  switch (decision.kind) {
    case 'refused':
      return decision.refusals.join('; ');
    case 'inert':
      return decision.why;
    case 'asksNothing':
      return 'no IMDS parameter is set';
  }
}
