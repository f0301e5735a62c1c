/** A report in words; the page has all of it. */
import type { Report } from '../../rollout/report.ts';
import { bold, outcomeInColour } from './style.ts';
import { renderTable } from './table.ts';

export function reportText(report: Report): string {
  const { execution, outcome, reason, asked, timeline } = report;
  const sections = [
    `${bold(execution)} ${outcomeInColour(outcome)}: ${reason}`,
    table(
      'Asked',
      ['PARAMETER', 'VALUE', 'SET', 'BY'],
      asked.map(({ key, value, date, user }) => [key, value, date, user ?? '–']),
    ),
    classText(report),
    table(
      'Instances',
      ['NODE', 'INSTANCE', 'BEFORE', 'AFTER', 'HOW', 'WHY'],
      report.instances.map((one) => [
        one.node,
        one.instanceId ?? '–',
        metadata(one.before),
        metadata(one.after),
        one.how,
        one.why,
      ]),
    ),
    table(
      'Stragglers',
      ['NODE', 'MODIFIED', 'WHY NOT REPLACED', 'BUILDS'],
      report.stragglers.map(({ node, modifiedAt, why, builds }) => [
        node,
        modifiedAt,
        why,
        builds.join(', '),
      ]),
    ),
    table(
      'Blockers',
      ['NODE', 'WAITS FOR'],
      report.blockers.map(({ node, why }) => [node, why]),
    ),
    report.unknowns.length === 0 ? '' : `${bold('Unknown')}\n${report.unknowns.join('\n')}`,
    table(
      'Timeline',
      ['AT', 'WHAT'],
      timeline.map(({ at, what }) => [at, what]),
    ),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function table(title: string, titles: readonly string[], rows: readonly string[][]): string {
  return rows.length === 0 ? '' : `${bold(title)}\n${renderTable(titles, rows)}`;
}

function classText({ class: nodeClass }: Report): string {
  if (nodeClass === null) return '';
  return `${bold(`Class ${nodeClass.name}`)}\n${metadata(nodeClass.before)} → ${metadata(nodeClass.after)}`;
}

function metadata(options: Report['instances'][number]['before']): string {
  if (options === null) return '–';
  const state =
    options['state'] === undefined || options['state'] === 'applied' ? '' : ` ${String(options['state'])}`;
  return `${String(options['httpTokens'] ?? '?')}/${String(options['httpPutResponseHopLimit'] ?? '?')}${state}`;
}
