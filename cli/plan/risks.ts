/** What can go wrong, in sentences, from what is known; what is not known is said to be so. Pure. */
import type { Workload } from '../../rollout/workloads.ts';
import { count } from '../view/words.ts';
import type { Explanation, Risk } from './explanation.ts';

type Known = Omit<Explanation, 'risks'>;

export function risksOf(known: Known): Risk[] {
  return [
    ...loosens(known),
    ...leaves(known),
    ...breaks(known),
    ...interrupts(known),
    ...reverts(known),
    ...forbidden(known),
    ...unknown(known),
  ];
}

const names = (workloads: readonly Workload[]): string =>
  workloads.map(({ kind, name }) => `${kind} ${name}`).join(', ');

function loosens({ plan, workloads, nodes, reach }: Known): Risk[] {
  const looser = plan?.looser ?? [];
  const gaining = (workloads ?? []).filter(({ change }) => change === 'gains' || change === 'widens');
  const open = gaining.filter(({ credentials }) => credentials.from === 'node');
  const opened = (reach ?? []).some(({ rows }) =>
    rows.some(({ caller, before, after }) => caller === 'pod' && before !== 'yes' && after === 'yes'),
  );
  if (looser.length === 0 && gaining.length === 0) return [];
  return [
    {
      kind: 'loosens',
      text: `The change loosens ${looser.join(' and ') || 'what some instances have'}.${
        opened
          ? " Any pod on these nodes can then get the node role's credentials, Builds that run other people's code included; a NetworkPolicy that blocks 169.254.169.254, or a node role that may do little, limits what that is worth."
          : ''
      }`,
    },
    ...(open.length > 0
      ? [
          {
            kind: 'loosens' as const,
            text: `Without credentials of their own, and so able to take the node's: ${names(open)}.`,
          },
        ]
      : []),
    ...((nodes ?? []).some(({ live }) => live === 'at once')
      ? [{ kind: 'loosens' as const, text: 'Running instances are loosened at once (strategy immediate).' }]
      : []),
  ];
}

/** A hop limit of 1 looks like a lock and is none while tokens are optional. */
function leaves({ reach }: Known): Risk[] {
  const open = (reach ?? []).some(
    ({ after }) => after.httpTokens === 'optional' && after.httpPutResponseHopLimit === 1,
  );
  return open
    ? [
        {
          kind: 'leaves',
          text: 'Hop limit 1 keeps pods from IMDSv2 alone, whose token then does not reach them. IMDSv1 works whatever the limit while httpTokens is optional: whoever wants pods kept out sets it to required.',
        },
      ]
    : [];
}

function breaks({ workloads, evidence, asked }: Known): Risk[] {
  const losing = (workloads ?? []).filter(({ change }) => change === 'loses');
  const narrowed = (workloads ?? []).filter(({ change }) => change === 'narrows' || change === 'swaps');
  const used = (evidence?.uses ?? []).filter(
    ({ metric, count: number }) => metric === 'MetadataNoToken' && (number ?? 0) > 0,
  );
  const tightens =
    asked?.some(({ option, after }) => option === 'httpTokens' && after === 'required') ?? false;
  return [
    ...losing.map(({ kind, name, agent, credentials }) => ({
      kind: 'breaks' as const,
      text: `${kind} ${name} loses IMDS${
        credentials.from === 'node' ? ", and with it the node's credentials, if it used them" : ''
      }${agent === null ? '' : `: ${agent.without}`}.`,
    })),
    ...(narrowed.length > 0
      ? [
          {
            kind: 'breaks' as const,
            text: `Only IMDSv2 is left to ${names(narrowed)}: an SDK older than that fails there.`,
          },
        ]
      : []),
    ...(tightens && used.length > 0
      ? [
          {
            kind: 'breaks' as const,
            text: `IMDSv1 was used on ${used
              .map(({ node, count: number }) => `${node} (${String(number)} times)`)
              .join(', ')}: whoever does that is refused with 401 afterwards.`,
          },
        ]
      : []),
  ];
}

function interrupts({ nodes, singleReplicas, headroom }: Known): Risk[] {
  const leaving = (nodes ?? []).filter(({ fate }) => fate === 'replaced' || fate === 'keptUntilBuildsEnd');
  const full = (headroom?.limits ?? []).filter(({ free }) => free !== null && free <= 0);
  return [
    ...(leaving.length > 0
      ? [
          {
            kind: 'interrupts' as const,
            text: `${count(leaving.length, 'node')} will be replaced; what runs there and is no Build is evicted and made anew elsewhere.`,
          },
        ]
      : []),
    ...(singleReplicas ?? []).map(({ kind, name, node }) => ({
      kind: 'interrupts' as const,
      text: `${kind} ${name} has a single replica, on ${node}: it is away from its eviction until its successor is Ready.`,
    })),
    ...full.map(({ resource, limit }) => ({
      kind: 'interrupts' as const,
      text: `The pool's limit of ${resource} (${limit}) is used up: Karpenter launches no replacement before a node has gone.`,
    })),
  ];
}

const reverts = ({ plan }: Known): Risk[] =>
  Object.entries(plan?.owners ?? {}).map(([manager, fields]) => ({
    kind: 'reverts',
    text: `${manager} manages ${fields.join(' and ')} too: its next apply may put the old value back, or fail with a conflict. Change it there as well.`,
  }));

function forbidden({ account, asked }: Known): Risk[] {
  const optional =
    asked?.some(({ option, after }) => option === 'httpTokens' && after === 'optional') ?? false;
  return account?.httpTokensEnforced === true && optional
    ? [{ kind: 'forbidden', text: 'The account enforces required tokens: EC2 refuses `optional`.' }]
    : [];
}

const unknown = ({ unknowns }: Known): Risk[] =>
  unknowns.length === 0
    ? []
    : [
        {
          kind: 'unknown',
          text: `Not known: ${unknowns.map(({ part }) => part).join('; ')}. Nothing above says anything about it.`,
        },
      ];
