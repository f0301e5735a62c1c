/** What a played scenario came to, for a person at a terminal. */
import type { RunResult } from '../../simulator/run/result.ts';
import { formatDuration } from '../../simulator/scenario/duration.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { bad, bold, dim, notable, outcomeInColour } from './style.ts';
import { renderTable } from './table.ts';
import { count, holdText, optionsText, sinceStart } from './words.ts';

/** The whole summary, several lines. */
export function summaryText(scenario: Scenario, result: RunResult): string {
  const time = `${formatDuration(result.virtualSeconds * 1000)} of virtual time`;
  const played = `${time}, seed ${String(result.seed)}; ended since ${ends[result.endedBecause]}`;
  const sections = [
    `${bold(scenario.name)} ${dim(`(${played})`)}`,
    `${bold('Outcome')} ${outcomeText(result)}`,
    rollouts(scenario, result),
    instances(scenario, result),
    builds(result),
    held(result),
    undone(scenario, result),
    notices(scenario, result),
    calls(result),
    violations(scenario, result),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

const ends: Record<RunResult['endedBecause'], string> = {
  runFor: 'runFor was reached',
  quiet: 'nothing has changed for 30m',
  asked: 'no more was asked for',
};

/** None only where nothing is still to come to one. */
function outcomeText({ outcome, reason, rollouts: all }: RunResult): string {
  const running = all.findLast((rollout) => rollout.outcome === null);
  const still = running === undefined ? '' : `${running.execution} still runs`;
  if (outcome === null) return still === '' ? outcomeInColour(null) : notable(still);
  const said = `${outcomeInColour(outcome)}${reason === null ? '' : `: ${reason}`}`;
  return still === '' ? said : `${said}; ${notable(still)}`;
}

function section(title: string, text: string): string {
  return `${bold(title)}\n${text}`;
}

function rollouts(scenario: Scenario, result: RunResult): string {
  if (result.rollouts.length === 0) return 'No execution started.';
  const at = (moment: string | null): string =>
    moment === null ? '–' : sinceStart(moment, scenario.startsAt);
  const rows = result.rollouts.map((rollout) => [
    rollout.execution,
    rollout.generation ?? '–',
    rollout.outcome ?? 'running',
    at(rollout.startedAt),
    at(rollout.compliantAt),
    at(rollout.endedAt),
    String(rollout.transitions),
  ]);
  const titles = ['EXECUTION', 'GENERATION', 'OUTCOME', 'STARTED', 'COMPLIANT', 'ENDED', 'TRANSITIONS'];
  return section('Executions', renderTable(titles, rows));
}

function instances(scenario: Scenario, result: RunResult): string {
  const rows = result.instances.map((instance) => [
    instance.node ?? '–',
    instance.pool ?? '–',
    instance.id,
    optionsText(instance.atStart),
    instance.atEnd?.state === 'pending'
      ? notable(`${optionsText(instance.atEnd)} pending`)
      : optionsText(instance.atEnd),
    instance.modifiedAt === null ? '–' : sinceStart(instance.modifiedAt, scenario.startsAt),
    instance.terminatedAt === null
      ? 'there'
      : `${sinceStart(instance.terminatedAt, scenario.startsAt)}${instance.endedBy === null ? '' : ` by ${instance.endedBy}`}`,
  ]);
  const titles = ['NODE', 'POOL', 'INSTANCE', 'AT START', 'AT END', 'MODIFIED', 'GONE'];
  return section('Instances', renderTable(titles, rows));
}

function builds(result: RunResult): string {
  if (result.builds.length === 0) return '';
  const rows = result.builds.map((build) => [
    build.name,
    build.node ?? '–',
    build.outcome === 'evicted' || build.outcome === 'brokenByImds' ? bad(build.outcome) : build.outcome,
    formatDuration(build.waitedSeconds * 1000),
    build.changedUnder ? 'yes' : 'no',
    build.why ?? '',
  ]);
  const titles = ['BUILD', 'NODE', 'OUTCOME', 'WAITED', 'CHANGED UNDER', 'WHY'];
  const lost = result.buildsLost === 0 ? 'none lost' : bad(`${count(result.buildsLost, 'Build')} lost`);
  return section(`Builds (${lost})`, renderTable(titles, rows));
}

function held(result: RunResult): string {
  if (result.held.length === 0) return '';
  const rows = result.held.map((node) => [node.node, holdText(node) || 'marked', node.why]);
  return section('Held at the end', renderTable(['NODE', 'HOLD', 'WAITS FOR'], rows));
}

function undone(scenario: Scenario, result: RunResult): string {
  if (result.undone.length === 0) return '';
  const rows = result.undone.map(({ at, command, why }) => [sinceStart(at, scenario.startsAt), command, why]);
  return section(notable('Commands that did nothing'), renderTable(['AT', 'COMMAND', 'WHY'], rows));
}

function notices(scenario: Scenario, result: RunResult): string {
  if (result.notices.length === 0) return '';
  const rows = result.notices.map((notice) => [sinceStart(notice.at, scenario.startsAt), notice.type]);
  return section('Notices', renderTable(['AT', 'NOTICE'], rows));
}

function calls(result: RunResult): string {
  const rows = Object.entries(result.calls).map(([api, counts]) => [
    api,
    String(counts.calls),
    String(counts.throttled),
    String(counts.errors),
  ]);
  return rows.length === 0
    ? ''
    : section('Calls', renderTable(['API', 'CALLS', 'THROTTLED', 'ERRORS'], rows));
}

function violations(scenario: Scenario, result: RunResult): string {
  if (result.violations.length === 0) return 'No invariant is broken.';
  const rows = result.violations.map(({ invariant, at, what }) => [
    invariant,
    sinceStart(at, scenario.startsAt),
    what,
  ]);
  return section(bad('Broken invariants'), renderTable(['INVARIANT', 'AT', 'WHAT'], rows));
}
