import { Command } from 'commander';
import { decide } from '../../rollout/desired.ts';
import { owned } from '../../rollout/options.ts';
import { playToMoment, type Moment, type MomentOptions } from '../moment.ts';
import { sceneOf } from '../view/scene.ts';
import { statusText, type Status } from '../view/status.ts';
import { answersFromMoment, printJson, printText } from './common.ts';

const examples = `
Examples:
  imds-rollout status --scenario scenario.yaml --at 12m
  imds-rollout status --scenario scenario.yaml --at 12m --json`;

/** Says how a rack stands. */
export function statusCommand(): Command {
  return answersFromMoment(new Command('status'))
    .summary('say how a rack stands: what is asked, what runs, what is held')
    .description(
      'Says how a rack stands: what is asked, the class, each build node, what runs, what it waits for.',
    )
    .addHelpText('after', examples)
    .action(status);
}

async function status(options: MomentOptions & { json?: boolean }): Promise<void> {
  const moment = await playToMoment(options);
  const found = await read(moment);
  if (options.json) printJson(found);
  else printText(statusText(found));
}

async function read({ rack, world }: Moment): Promise<Status> {
  const { parameters, records } = world.account.ports;
  const [stored, record] = await Promise.all([parameters.list(rack), records.read(rack)]);
  const decision = decide(stored, owned(record.baseline).length > 0);
  return {
    rack,
    asks:
      decision.kind === 'asks'
        ? { kind: 'asks', ask: decision.ask, why: null }
        : { kind: decision.kind, ask: null, why: whyNothing(decision) },
    last: record.last ?? null,
    holdsMayExist: record.holdsMayExist,
    scene: sceneOf(world),
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
