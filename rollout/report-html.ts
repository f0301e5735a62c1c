/** The report as a page: one file without anything from outside, to be read on a screen and in print. Pure. */
import { html, nothing, styles, type Html, type Piece } from './html.ts';
import type { Plan } from './journal.ts';
import type { Report } from './report.ts';

/** The whole page. */
export function reportHtml(report: Report): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${report.execution}: ${report.outcome}</title>
        <style>
          ${styles}
        </style>
      </head>
      <body>
        <h1>IMDS rollout of rack ${report.rack}</h1>
        <p class="quiet">
          Execution ${report.execution}, cluster ${report.cluster}, generation ${report.generation}
        </p>
        <p><span class="outcome ${tone(report.outcome)}">${report.outcome}</span> ${report.reason}</p>
        ${sections(report)}
      </body>
    </html> `.text;
}

function tone(outcome: Report['outcome']): string {
  if (outcome === 'Succeeded') return 'good';
  return outcome === 'NothingToDo' || outcome === 'Superseded' || outcome === 'Withdrawn' ? 'quiet' : 'bad';
}

function sections(report: Report): Html[] {
  return [
    table(
      'Asked',
      ['Parameter', 'Value', 'Version', 'Set', 'By'],
      report.asked.map(({ key, value, version, date, user }) => [key, value, version, date, user]),
    ),
    classSection(report),
    planSection(report),
    table(
      'Instances',
      ['Node', 'Instance', 'Before', 'After', 'Read', 'How', 'Why'],
      report.instances.map((one) => [
        one.node,
        one.instanceId,
        options(one.before),
        options(one.after),
        one.readAt,
        one.how,
        one.why,
      ]),
    ),
    table(
      'Stragglers: modified live, since they had not been replaced',
      ['Node', 'Instance', 'Modified', 'Why not replaced', 'Builds that ran'],
      report.stragglers.map(({ node, instanceId, modifiedAt, why, builds }) => [
        node,
        instanceId,
        modifiedAt,
        why,
        builds.join(', '),
      ]),
    ),
    table(
      'Blockers',
      ['Node', 'Waits for'],
      report.blockers.map(({ node, why }) => [node, why]),
    ),
    table(
      'Unknown',
      ['Node or fact'],
      report.unknowns.map((one) => [one]),
    ),
    table(
      'Builds',
      ['Build', 'Node', 'Changed under it', 'Became of it', 'Why'],
      report.builds.map(({ name, node, changedUnder, fate, why }) => [
        name,
        node,
        yesOrNo(changedUnder),
        fate,
        why,
      ]),
    ),
    table(
      'Holds',
      ['At', 'Node', 'Hold', 'Why'],
      report.holds.map(({ at, node, why, ...hold }) => [at, node, holdText(hold), why]),
    ),
    table(
      'Timeline',
      ['At', 'What'],
      report.timeline.map(({ at, what }) => [at, what]),
    ),
    table(
      'Calls',
      ['API', 'Calls'],
      Object.entries(report.calls).map(([api, calls]) => [api, calls]),
    ),
    html`<h2>Cost</h2>
      <p>
        ${report.cost.stateTransitions} state transitions, about ${report.cost.usd} USD for Step Functions
      </p>`,
  ];
}

function classSection({ class: nodeClass }: Report): Html {
  if (nodeClass === null) return nothing;
  const { name, before, after, resourceVersions } = nodeClass;
  return html`<h2>Class ${name}</h2>
    <p>
      ${options(before)} → ${options(after)}
      <span class="quiet">(resourceVersions ${resourceVersions.join(', ')})</span>
    </p> `;
}

export const fates: Record<Plan['nodes'][number]['fate'], string> = {
  replaced: 'replaced by Karpenter',
  keptUntilBuildsEnd: 'kept until its Builds end',
  untouched: 'untouched',
  unknown: 'unknown',
};

function planSection({ plan }: Report): Html {
  if (plan === null) return nothing;
  const looser =
    plan.looser.length === 0 ? nothing : html`<p class="bad">Looser: ${plan.looser.join(', ')}</p>`;
  const notices = plan.notices.map((notice) => html`<p>Notice: ${notice}</p>`);
  const nodes = plan.nodes.map(({ node, before, verdict, builds, fate }) => [
    node,
    options(before),
    verdict,
    builds.join(', '),
    fates[fate],
  ]);
  return html`${looser}${notices}${table('Plan', ['Node', 'Options', 'Verdict', 'Builds', 'Fate'], nodes)}`;
}

function table(title: string, titles: readonly string[], rows: readonly (readonly Piece[])[]): Html {
  if (rows.length === 0) return nothing;
  const head = titles.map((one) => html`<th scope="col">${one}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr>
        ${row.map((cell) => html`<td>${cell}</td>`)}
      </tr> `,
  );
  return html`<h2>${title}</h2>
    <table>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table> `;
}

function options(values: Record<string, string | number> | null): string {
  if (values === null) return '–';
  return Object.entries(values)
    .map(([key, value]) => `${key} ${String(value)}`)
    .join(', ');
}

function holdText({ protected: isProtected, cordoned }: { protected: boolean; cordoned: boolean }): string {
  return (
    [...(isProtected ? ['protected'] : []), ...(cordoned ? ['cordoned'] : [])].join(' and ') || 'released'
  );
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
