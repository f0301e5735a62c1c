/** A plan in words. */
import { inWords } from '../../rollout/options.ts';
import type { Plan } from '../../rollout/journal.ts';
import { fates } from '../../rollout/report-html.ts';
import type { State } from '../../rollout/state.ts';
import { bold, notable } from './style.ts';
import { renderTable } from './table.ts';
import { optionsText } from './words.ts';

/** What would happen, or that nothing would. */
export function planText(rack: string, state: State, plan: Plan | undefined): string {
  if (state.next === 'conclude' || plan === undefined) {
    return `${bold(rack)}: nothing to do${state.next === 'conclude' ? `, ${state.reason}` : ''}.`;
  }
  const rows = plan.nodes.map((node) => [
    node.node,
    optionsOf(node.before),
    node.verdict === 'right' ? node.verdict : notable(node.verdict),
    node.builds.join(', '),
    fates[node.fate],
  ]);
  const owners = Object.entries(plan.owners).map(([manager, fields]) => `${manager} (${fields.join(', ')})`);
  return [
    `${bold(rack)}: ${state.waitsFor ?? 'something differs'}`,
    classText(plan),
    ...(plan.restoring.length > 0 ? [`Given back afterwards: ${plan.restoring.join(', ')}`] : []),
    ...(plan.looser.length > 0 ? [notable(`Looser: ${plan.looser.join(', ')}`)] : []),
    ...(owners.length > 0 ? [`Managed by others: ${owners.join(', ')}`] : []),
    ...plan.notices.map((notice) => `Notice: ${notice}`),
    '',
    renderTable(['NODE', 'OPTIONS', 'VERDICT', 'BUILDS', 'WHAT BECOMES OF IT'], rows),
    ...(plan.blockers.length > 0
      ? [
          '',
          renderTable(
            ['BLOCKED', 'BY'],
            plan.blockers.map(({ node, why }) => [node, why]),
          ),
        ]
      : []),
  ].join('\n');
}

function classText({ class: { name, before }, target }: Plan): string {
  const [now, then] = [inWords(before), inWords({ ...before, ...target })];
  return now === then ? `Class ${name}: ${now}, unchanged` : `Class ${name}: ${now} → ${then}`;
}

function optionsOf(before: Plan['nodes'][number]['before']): string {
  if (before === null) return '–';
  const { httpTokens, httpPutResponseHopLimit } = before;
  return optionsText({
    ...(httpTokens === 'optional' || httpTokens === 'required' ? { httpTokens } : {}),
    ...(typeof httpPutResponseHopLimit === 'number' ? { httpPutResponseHopLimit } : {}),
  });
}
