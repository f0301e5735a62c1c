// Writes docs/outcomes.md (each outcome as it is seen, from a scenario that comes to it) and the table of refusals in
// docs/operations.md.
import { readFileSync } from 'node:fs';
import { codeOf, endingText } from '../cli/commands/watch.ts';
import { outcomes, type Outcome } from '../rollout/record.ts';
import { refusals } from '../rollout/refusals.ts';
import { watchWorld } from '../simulator/invariants/watch-world.ts';
import type { RolloutResult, RunResult } from '../simulator/run/result.ts';
import { runScenario } from '../simulator/run/run.ts';
import type { World } from '../simulator/run/world.ts';
import { loadScenario } from '../simulator/scenario/load.ts';
import { readCoverage, scenarioFile } from './coverage/read.ts';
import { generate } from './generated-block.ts';

const operations = readFileSync('docs/operations.md', 'utf8');
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string): string => (text.includes('`') ? `\`\` ${cell(text)} \`\`` : `\`${cell(text)}\``);

/** The first paragraph that operations.md has under the outcome's heading. */
function onCall(outcome: string): string {
  const [, text] = new RegExp(String.raw`### ${outcome}\n\n([^\n]+)`).exec(operations) ?? [];
  if (text === undefined) throw new Error(`docs/operations.md has no entry ### ${outcome}`);
  return text;
}

interface Seen {
  outcome: Outcome;
  scenario: string;
  rollout: RolloutResult;
  result: RunResult;
  world: World;
}

async function see(outcome: Outcome, scenario: string): Promise<Seen> {
  const file = scenarioFile(scenario);
  let world: World | undefined;
  const result = await runScenario(loadScenario(readFileSync(file, 'utf8'), file), {
    invariants: (made) => {
      world = made;
      return watchWorld(made);
    },
  });
  const rollout = result.rollouts.find((each) => each.outcome === outcome);
  if (world === undefined || rollout === undefined) throw new Error(`${file} comes to no ${outcome}`);
  return { outcome, scenario, rollout, result, world };
}

/** As the console has it: a Fail state's Error and Cause, or the output of an execution that succeeded. */
function inConsole({ world, rollout, outcome }: Seen): string {
  const execution = world.executions.find(({ name }) => name === rollout.execution);
  const { status = '', error, cause } = execution ?? {};
  if (status === 'FAILED') return `FAILED, Error ${code(error ?? '')}, Cause ${code(cause ?? '')}`;
  if (status === 'ABORTED') return 'ABORTED: it was stopped here, so that there is neither Error nor Cause';
  return `${status}, output with ${code(`"outcome": "${outcome}"`)} and the reason ${code(rollout.reason ?? '')}`;
}

const noticeOf = ({ result, rollout }: Seen): RunResult['notices'][number] | undefined =>
  // The last one: a rollout that waited for a person told of that first.
  result.notices.findLast(({ detail }) => detail['execution'] === rollout.execution);

function inNotice(seen: Seen): string {
  const notice = noticeOf(seen);
  return notice === undefined
    ? 'none: the newer execution tells'
    : `${code(notice.type)} with the reason ${code(String(notice.detail['reason']))}`;
}

function sectionOf(seen: Seen): string {
  const { outcome, scenario, rollout } = seen;
  // The command reads what is on record, which is what the notice says.
  const { reason: told } = noticeOf(seen)?.detail ?? {};
  const reason = typeof told === 'string' ? told : (rollout.reason ?? '');
  const ending = { execution: rollout.execution, outcome, reason };
  const rows = [
    ['console', inConsole(seen)],
    ['`imds-rollout watch`', `${code(endingText(ending))}, and it ends with ${String(codeOf(ending))}`],
    ['notice', inNotice(seen)],
    ['on call', `${cell(onCall(outcome))} More: [operations.md](operations.md#${outcome.toLowerCase()}).`],
  ];
  const table = [
    '| where | what |',
    '| --- | --- |',
    ...rows.map(([where = '', what = '']) => `| ${where} | ${what} |`),
  ];
  return `## ${outcome}\n\nPlayed by [${scenario}](../${scenarioFile(scenario)}).\n\n${table.join('\n')}`;
}

const coverage = readCoverage();
const sections: string[] = [];
for (const outcome of outcomes) {
  const [scenario] = coverage.outcomes[outcome] ?? [];
  if (scenario !== undefined) sections.push(sectionOf(await see(outcome, scenario)));
}
const refused = Object.values(refusals).map(
  ({ says, remedy }) => `| ${code(says.replaceAll(/\{\w+\}/g, '…'))} | ${remedy} |`,
);

await generate([
  { file: 'docs/outcomes.md', name: 'outcomes as seen', text: sections.join('\n\n') },
  {
    file: 'docs/operations.md',
    name: 'refusals',
    text: ['| the reason says | do |', '| --- | --- |', ...refused].join('\n'),
  },
]);
