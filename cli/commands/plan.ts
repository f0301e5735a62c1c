import { Command } from 'commander';
import { planStep } from '../../rollout/plan.ts';
import { readJournal, type Plan } from '../../rollout/journal.ts';
import type { Ports, Reports } from '../../rollout/ports.ts';
import type { State } from '../../rollout/state.ts';
import { exitCodes } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { openSource, type SourceOptions } from '../source.ts';
import { planText } from '../view/plan.ts';
import { answers, printJson, printText } from './common.ts';

const examples = `
Examples:
  imds-rollout plan -r demo
  imds-rollout plan --scenario scenario.yaml --at 2m
  imds-rollout plan --scenario scenario.yaml --at 2m --json

Ends with 0 if nothing would change, with 2 if something would, with 1 if it would be refused or on an error.`;

/** Says what a rollout would do now. Reads only. */
export function planCommand(): Command {
  return answers(new Command('plan'))
    .summary('say what a rollout would do now, from reads alone')
    .description(
      'Says what a rollout of the rack would do now: the class, each node, what blocks. It reads and writes nothing.',
    )
    .addHelpText('after', examples)
    .action(plan);
}

async function plan(options: SourceOptions & { json?: boolean }): Promise<void> {
  const { rack, ports } = await openSource(options);
  const { state, plan: found } = await planned(ports, rack);
  if (state.next === 'conclude' && state.outcome !== 'NothingToDo' && state.outcome !== 'Withdrawn') {
    if (options.json) printJson({ rack, outcome: state.outcome, reason: state.reason, plan: null });
    throw new CommandFailure(`${state.outcome}: ${state.reason}`);
  }
  if (options.json) printJson(asJson(rack, state, found));
  else printText(planText(rack, state, found));
  process.exitCode = found === undefined ? exitCodes.done : exitCodes.differs;
}

/** The step that a workflow would take, on paper: what it writes down goes nowhere. */
async function planned(ports: Ports, rack: string): Promise<{ state: State; plan: Plan | undefined }> {
  const written = new Map<string, string>();
  const reports: Reports = {
    put: async (key, body) => {
      written.set(key, body);
      return Promise.resolve();
    },
    get: (key) => Promise.resolve(written.get(key)),
    list: (prefix) => Promise.resolve([...written.keys()].filter((key) => key.startsWith(prefix))),
  };
  const execution = { rack, execution: 'plan', startedAt: ports.clock.now().toISOString() };
  const state = await planStep({ ...ports, reports }, execution);
  const entries = await readJournal({ reports }, execution);
  return { state, plan: entries.flatMap((entry) => (entry.what === 'planned' ? [entry.plan] : [])).at(-1) };
}

function asJson(rack: string, state: State, found: Plan | undefined): unknown {
  const reason = state.next === 'conclude' ? state.reason : state.waitsFor;
  const outcome = state.next === 'conclude' ? state.outcome : null;
  return { rack, outcome, reason: reason ?? null, generation: state.generation ?? null, plan: found ?? null };
}
