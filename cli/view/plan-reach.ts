/** Who can reach IMDS, and which workloads that concerns, as parts of a document. */
import type { Credentials } from '../../rollout/credentials.ts';
import { CALLERS, VERSIONS, type Reach, type ReachRow } from '../../rollout/reach.ts';
import type { Workload } from '../../rollout/workloads.ts';
import type { Explanation, ReachTable } from '../plan/explanation.ts';
import type { Block } from './document.ts';
import { optionsText } from './words.ts';

const REACH: Record<Reach, string> = {
  yes: 'yes',
  refused: 'no, 401',
  timesOut: 'no, time-out',
  off: 'no, 403',
};

export function reachBlocks({ reach, routesOnceMore }: Explanation): Block[] {
  if (reach === null) return [];
  return [
    { kind: 'heading', text: 'Who can reach IMDS' },
    ...reach.flatMap(tableBlocks),
    {
      kind: 'text',
      text: 'The hop limit holds back the response that carries an IMDSv2 token, nothing else. A nested container is one that a pod runs itself, as Docker in Docker does.',
    },
    ...(routesOnceMore.length > 0
      ? [
          {
            kind: 'text' as const,
            text: `${routesOnceMore.join(' and ')} runs on build nodes: as an overlay it routes once more, so a pod may be as far as the table has a nested container, and that one hop further.`,
            notable: true,
          },
        ]
      : []),
  ];
}

function tableBlocks({ nodes, before, after, rows }: ReachTable): Block[] {
  const where = nodes.length === 0 ? 'The class, and so nodes to come' : nodes.join(', ');
  const change = `${optionsText(before)} → ${optionsText(after)}`;
  return [
    {
      kind: 'text',
      text: `${where}: ${optionsText(before) === optionsText(after) ? optionsText(after) : change}`,
    },
    {
      kind: 'table',
      titles: ['caller', ...VERSIONS.flatMap((version) => [`${version} now`, 'afterwards'])].map(apart),
      rows: CALLERS.map((caller) => [
        caller,
        ...VERSIONS.flatMap((version) =>
          cellsOf(rows.find((row) => row.caller === caller && row.version === version)),
        ),
      ]),
    },
  ];
}

/** Titles of a terminal's table have to differ. */
const apart = (title: string, place: number): string =>
  title === 'afterwards' ? `${VERSIONS[place / 2 - 1] ?? ''} afterwards` : title;

const cellsOf = (row: ReachRow | undefined): [string, string] =>
  row === undefined ? ['', ''] : [REACH[row.before], REACH[row.after]];

export function workloadBlocks({ workloads }: Explanation): Block[] {
  if (workloads === null) return [];
  const known = [
    ...new Map(workloads.flatMap((each) => (each.agent ? [[each.agent.name, each]] : []))).values(),
  ];
  return [
    { kind: 'heading', text: 'What it means to what runs there' },
    workloads.length === 0
      ? { kind: 'text', text: 'Nothing runs on build nodes now.' }
      : {
          kind: 'table',
          titles: ['workload', 'network', 'IMDS now', 'IMDS afterwards', 'change', 'credentials', 'nodes'],
          rows: workloads.map(rowOf),
        },
    ...known.flatMap(agentBlocks),
    ...nestingBlocks(workloads),
  ];
}

const rowOf = (workload: Workload): string[] => [
  `${workload.kind} ${workload.name}`,
  workload.caller === 'pod' ? 'pod' : 'host',
  workload.before === null ? 'not known' : workload.before.join(', ') || 'none',
  workload.after.join(', ') || 'none',
  workload.change === 'unknown' ? 'not known' : workload.change,
  credentialsText(workload.credentials),
  workload.nodes.length === 0 ? 'yet to come' : workload.nodes.join(', '),
];

const OWN = { irsa: 'IRSA', podIdentity: 'EKS Pod Identity' } as const;

function credentialsText({ from, role, afterRestart }: Credentials): string {
  if (from === 'keys') return 'keys of its own';
  if (from !== 'node') return role === undefined ? OWN[from] : `${OWN[from]} (${role})`;
  if (afterRestart === null) return "the node's role; its own after a restart: not known";
  return afterRestart === undefined
    ? "the node's role"
    : `the node's role; ${OWN[afterRestart]} after a restart`;
}

/** What the agent reads and why, and what the change is to it. */
function agentBlocks({ kind, name, agent, change, caller }: Workload): Block[] {
  if (agent === null) return [];
  const host =
    caller === 'hostNetwork pod' ? ", on the host's network, which the hop limit does not hold back" : '';
  const gaining = change === 'gains' || change === 'widens';
  return [
    { kind: 'text', text: `${kind} ${name} ${VERBS[change]}${host}. It is ${agent.name}:` },
    {
      kind: 'list',
      items: [
        agent.why,
        ...(agent.reads.length > 0 ? [`it reads ${agent.reads.join(', ')}`] : []),
        ...(change === 'loses' ? [`without: ${agent.without}`] : []),
        ...(gaining || change === 'loses' ? [`another way: ${agent.instead}`] : []),
        `sources: ${agent.sources.join(' ')}`,
      ],
    },
  ];
}

const VERBS: Record<Workload['change'], string> = {
  gains: 'gains access to IMDS',
  loses: 'loses access to IMDS',
  widens: 'can use one version of IMDS more',
  narrows: 'can use one version of IMDS less',
  swaps: 'has to use the other version of IMDS',
  keeps: 'reaches IMDS as before',
  'has none': 'does not reach IMDS, as before',
  unknown: "may gain or lose IMDS: its nodes' options are not known",
};

function nestingBlocks(workloads: readonly Workload[]): Block[] {
  const nesting = workloads.filter(({ mayNest }) => mayNest).map(({ kind, name }) => `${kind} ${name}`);
  return nesting.length === 0
    ? []
    : [
        {
          kind: 'text',
          text: `May run containers of their own, which are as far as the table has a nested container: ${nesting.join(', ')}.`,
        },
      ];
}
