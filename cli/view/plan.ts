/** A plan that explains itself, as a document. */
import { inWords } from '../../rollout/options.ts';
import type { Plan } from '../../rollout/journal.ts';
import { fates } from '../../rollout/report-html.ts';
import type { LiveModification, NodeOutlook } from '../../rollout/outlook.ts';
import { formatDuration } from '../../simulator/scenario/duration.ts';
import type { Explanation, ImdsUse } from '../plan/explanation.ts';
import type { Block, Document } from './document.ts';
import { forecastBlocks } from './plan-forecast.ts';
import { reachBlocks, workloadBlocks } from './plan-reach.ts';
import { count, optionsText } from './words.ts';

/** What would happen, who gains and loses what, what is not known; or that there is nothing to do. */
export function planDocument(explained: Explanation): Document {
  const { rack, reason, outcome } = explained;
  if (outcome === 'NothingToDo' || outcome === 'Withdrawn') {
    return {
      title: `${rack}: nothing to do, ${reason ?? ''}.`,
      blocks: [...forecastBlocks(explained), ...unknownBlocks(explained)],
    };
  }
  const title = outcome === null ? `${rack}: ${reason ?? 'something differs'}` : `${rack}: ${outcome}`;
  return {
    title,
    blocks: [
      ...(outcome === null || reason === null
        ? []
        : [{ kind: 'text' as const, text: reason, notable: true }]),
      ...classBlocks(explained),
      ...askedBlocks(explained),
      ...reachBlocks(explained),
      ...workloadBlocks(explained),
      ...evidenceBlocks(explained),
      ...nodeBlocks(explained),
      ...forecastBlocks(explained),
      ...roomBlocks(explained),
      ...riskBlocks(explained),
      ...backBlocks(explained),
      ...unknownBlocks(explained),
    ],
  };
}

const text = (words: string, notable = false): Block => ({ kind: 'text', text: words, notable });
const heading = (words: string): Block => ({ kind: 'heading', text: words });

/** Which nodes are tried first, for how long, and what is looked at there. */
function canaryText({ nodes, bake, none }: NonNullable<Plan['canary']>): string {
  if (none !== undefined) return `Canary: none, ${none}`;
  return (
    `Canary: ${nodes.join(', ')}, modified live and watched for ${formatDuration(bake * 1000)}. A call that is rejected ` +
    'for want of a token (MetadataNoTokenRejected) or a failed Build there puts them back as they were, and the class is not touched'
  );
}

function classBlocks({ plan, approval, policy }: Explanation): Block[] {
  if (plan === null) return [];
  const owners = Object.entries(plan.owners).map(([manager, fields]) => `${manager} (${fields.join(', ')})`);
  return [
    text(classText(plan)),
    ...(policy?.classWriter === 'external'
      ? [
          text(
            'Written by somebody else (imds_rollout_class_writer is "external"): who renders the class has to render this',
          ),
        ]
      : []),
    ...(plan.canary === undefined ? [] : [text(canaryText(plan.canary))]),
    ...(plan.restoring.length > 0 ? [text(`Given back afterwards: ${plan.restoring.join(', ')}`)] : []),
    ...(plan.looser.length > 0 ? [text(`Looser: ${plan.looser.join(', ')}`, true)] : []),
    ...(owners.length > 0 ? [text(`Managed by others: ${owners.join(', ')}`)] : []),
    ...plan.notices.map((notice) => text(`Notice: ${notice}`)),
    ...(approval === null
      ? []
      : [
          text(
            approval.why === null
              ? `Approval: none is needed (imds_rollout_approval is "${approval.policy}")`
              : `Approval: a person has to approve this, since ${approval.why} (imds_rollout_approval is "${approval.policy}")`,
            approval.why !== null,
          ),
          ...(approval.command === null ? [] : [text(`Once a rollout waits for it: ${approval.command}`)]),
        ]),
  ];
}

function classText({ class: { name, before }, target }: Plan): string {
  const [now, then] = [inWords(before), inWords({ ...before, ...target })];
  return now === then ? `Class ${name}: ${now}, unchanged` : `Class ${name}: ${now} → ${then}`;
}

function askedBlocks({ asked }: Explanation): Block[] {
  if (asked === null || asked.length === 0) return [];
  const rows = asked.map(({ option, before, after, parameter }) => [
    option,
    before === after ? String(after) : `${String(before)} → ${String(after)}`,
    parameter === undefined ? 'no parameter asks for it any more' : `${parameter.key}=${parameter.value}`,
    parameter === undefined ? '–' : String(parameter.version),
    parameter?.at ?? '–',
    parameter === undefined ? '–' : (parameter.by ?? 'not known'),
  ]);
  return [
    heading('What is asked'),
    { kind: 'table', titles: ['option', 'change', 'by', 'version', 'written at', 'by whom'], rows },
    {
      kind: 'list',
      items: asked.map(({ option, after, meaning }) => `${option}=${String(after)}: ${meaning}`),
    },
  ];
}

function evidenceBlocks({ evidence }: Explanation): Block[] {
  if (evidence === null) return [];
  const { days, uses } = evidence;
  return [
    heading(`IMDSv1 in the last ${count(days, 'day')}, as CloudWatch counted it`),
    uses.length === 0
      ? text('There is no build instance to ask about.')
      : { kind: 'table', titles: ['node', 'instance', 'IMDSv1'], rows: uses.map(useRow) },
    text(
      'A node that is younger was counted from its launch. None of this predicts who needs a larger hop limit: a token that does not arrive is not counted.',
    ),
  ];
}

function useRow({ node, instanceId, metric, count: number }: ImdsUse): string[] {
  const what = metric === 'MetadataNoToken' ? 'used' : 'refused';
  const times = number === null ? 'not measured' : number === 0 ? 'none' : `${what} ${String(number)} times`;
  return [node, instanceId, metric === 'MetadataNoToken' ? times : `${times} (tokens are required already)`];
}

function nodeBlocks({ plan, nodes, policy, singleReplicas }: Explanation): Block[] {
  if (plan === null || nodes === null) return [];
  const outlook = new Map(nodes.map((each) => [each.node, each]));
  const rows = plan.nodes.map((node) => [
    node.node,
    optionsOf(node.before),
    node.verdict,
    node.builds.join(', '),
    fates[node.fate],
    liveText(outlook.get(node.node), policy),
  ]);
  const singles = (singleReplicas ?? []).map(({ kind, name, node }) => `${kind} ${name} on ${node}`);
  return [
    heading('What happens to which node'),
    {
      kind: 'table',
      titles: ['node', 'options', 'verdict', 'builds', 'what becomes of it', 'modified live'],
      rows,
    },
    ...(plan.blockers.length > 0
      ? [
          {
            kind: 'table' as const,
            titles: ['blocked', 'by'],
            rows: plan.blockers.map(({ node, why }) => [node, why]),
          },
        ]
      : []),
    ...(singles.length > 0
      ? [text(`Away for a moment, having a single replica: ${singles.join('; ')}`, true)]
      : []),
  ];
}

const LIVE: Record<LiveModification, (deadline: string) => string> = {
  'as a canary': () => 'first of all, as a canary',
  'at once': () => 'at once, by strategy immediate',
  probable: (deadline) => `probably, ${deadline} after the patch`,
  'if its Builds still run': (deadline) => `if a Build still runs ${deadline} after the patch`,
  no: () => 'no',
};

function liveText(outlook: NodeOutlook | undefined, policy: Explanation['policy']): string {
  if (outlook === undefined || policy === null) return '';
  return LIVE[outlook.live](formatDuration(policy.deadline * 1000));
}

function optionsOf(before: Plan['nodes'][number]['before']): string {
  if (before === null) return '–';
  const { httpTokens, httpPutResponseHopLimit } = before;
  return optionsText({
    ...(httpTokens === 'optional' || httpTokens === 'required' ? { httpTokens } : {}),
    ...(typeof httpPutResponseHopLimit === 'number' ? { httpPutResponseHopLimit } : {}),
  });
}

function roomBlocks({ headroom, account }: Explanation): Block[] {
  const limits = (headroom?.limits ?? []).map(({ resource, limit, used, free }) =>
    used === null
      ? `limit of ${resource}: ${limit}, used is not known`
      : `limit of ${resource}: ${used} of ${limit} used, ${String(free)} free`,
  );
  const budgets = (headroom?.budgets ?? []).map(({ nodes, atOnce, reasons, when }) => {
    const reason = reasons.length > 0 ? ` for ${reasons.join(', ')}` : '';
    return `disruption budget ${nodes}${reason}${when === null ? '' : `, ${when}`}: ${count(atOnce, 'node')} at a time`;
  });
  const replicas = headroom?.replicas ?? null;
  const items = [
    ...limits,
    ...(headroom !== null && limits.length === 0 ? ['no limit on what the pool may launch'] : []),
    ...budgets,
    ...(replicas === null ? [] : [`static: ${count(replicas, 'node')} always`]),
    ...(account === null ? [] : [accountText(account)]),
  ];
  return items.length === 0 ? [] : [heading('Room and rules'), { kind: 'list', items }];
}

function accountText({ httpTokensEnforced, managedBy }: NonNullable<Explanation['account']>): string {
  const who = managedBy === 'declarative-policy' ? 'an organisation policy' : 'the account';
  return httpTokensEnforced
    ? `${who} enforces required tokens (HttpTokensEnforced): httpTokens=optional cannot be launched`
    : 'no setting of the account forbids either value';
}

const riskBlocks = ({ risks }: Explanation): Block[] =>
  risks.length === 0
    ? []
    : [
        heading('What can go wrong'),
        { kind: 'list', items: risks.map(({ kind, text: words }) => `${kind}: ${words}`) },
      ];

function backBlocks({ wayBack, asked }: Explanation): Block[] {
  if (wayBack === null) {
    const words = 'Not known: what the parameters said before could not be read.';
    return asked === null ? [] : [heading('The way back'), text(words)];
  }
  const [command, ...rest] = wayBack;
  if (command === undefined) return [];
  return [heading('The way back'), { kind: 'command', text: command }, ...rest.map((words) => text(words))];
}

const unknownBlocks = ({ unknowns }: Explanation): Block[] =>
  unknowns.length === 0
    ? []
    : [
        heading('Not known'),
        {
          kind: 'table',
          titles: ['what', 'needs', 'why not'],
          rows: unknowns.map(({ part, needs, why }) => [part, needs, why]),
        },
      ];
