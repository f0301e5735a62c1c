/** What is likely, by a forecast, as parts of a document. */
import { formatDuration } from '../../simulator/scenario/duration.ts';
import type { Forecast, Quantiles } from '../forecast/schema.ts';
import type { Explanation } from '../plan/explanation.ts';
import type { Block } from './document.ts';
import { count } from './words.ts';

const text = (words: string, notable = false): Block => ({ kind: 'text', text: words, notable });

export function forecastBlocks({ forecast }: Pick<Explanation, 'forecast'>): Block[] {
  if (forecast === undefined) return [];
  if ('missing' in forecast)
    return [
      { kind: 'heading', text: 'What is likely' },
      text(`There is no forecast: ${forecast.missing}.`, true),
    ];
  const { runs, seed, virtualHours, duration, prior, couldNotExpress } = forecast;
  const since = duration.from === 'now' ? 'from now' : 'from its start';
  return [
    { kind: 'heading', text: `What is likely, by ${count(runs, 'run')} on the simulator` },
    {
      kind: 'table',
      titles: [`a rollout ${since}`, 'P50', 'P90', 'nine in ten'],
      rows: [
        ['all instances are right', ...durationCells(duration.toCompliant)],
        ['it has ended', ...durationCells(duration.toEnd)],
      ],
    },
    { kind: 'list', items: [outcomesText(forecast), ...liveItems(forecast)] },
    ...buildBlocks(forecast),
    text('What cannot be known was drawn anew for each run:'),
    { kind: 'list', items: prior.words },
    ...(couldNotExpress.length === 0
      ? []
      : [
          text('Left out, since the simulator cannot express it:'),
          { kind: 'list' as const, items: couldNotExpress },
        ]),
    text(`Seed ${String(seed)}, ${String(virtualHours)} virtual hours.`),
  ];
}

const long = (seconds: number | null): string =>
  seconds === null ? 'not reached' : formatDuration(seconds * 1_000);

const durationCells = ({ p5, p50, p90, p95 }: Quantiles): string[] => [
  long(p50),
  long(p90),
  `${long(p5)} to ${long(p95)}`,
];

const percent = (share: number): string => `${String(Math.round(share * 100))} %`;

const outcomesText = ({ outcomes }: Forecast): string =>
  `outcome: ${Object.entries(outcomes)
    .sort(([, one], [, other]) => other - one)
    .map(([outcome, share]) => `${outcome} ${percent(share)}`)
    .join(', ')}`;

function liveItems({ modifiedLive }: Forecast): string[] {
  const { certain, probable, possible } = modifiedLive;
  const byShare = (nodes: Forecast['modifiedLive']['probable']): string =>
    nodes.map(({ node, share }) => `${node} (${percent(share)})`).join(', ');
  const some = possible.filter(({ share }) => share > 0);
  const rare = possible.filter(({ share }) => share === 0).map(({ node }) => node);
  return [
    ...(certain.length > 0 ? [`modified live, certainly: ${certain.join(', ')}`] : []),
    ...(probable.length > 0 ? [`modified live, probably: ${byShare(probable)}`] : []),
    ...(some.length > 0 ? [`modified live, possibly: ${byShare(some)}`] : []),
    ...(rare.length > 0
      ? [`modified live only where Builds do not end or no node can be launched: ${rare.join(', ')}`]
      : []),
    ...(certain.length + probable.length + possible.length === 0 ? ['no node is modified live'] : []),
  ];
}

function buildBlocks({ buildsAtRisk, waits }: Forecast): Block[] {
  return [
    ...(buildsAtRisk.length === 0
      ? [text('No Build is at risk.')]
      : [
          {
            kind: 'table' as const,
            titles: ['Build at risk', 'node', 'changed under', 'evicted', 'given up'],
            rows: buildsAtRisk.map(({ build, node, changedUnder, evicted, givenUp }) => [
              build,
              node ?? 'none yet',
              percent(changedUnder),
              percent(evicted),
              percent(givenUp),
            ]),
          },
        ]),
    ...waits.map(({ build, p50, p90 }) =>
      text(`Build ${build} waits for a node: P50 ${long(p50)}, P90 ${long(p90)}.`),
    ),
  ];
}
