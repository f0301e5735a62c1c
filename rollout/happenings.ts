/** What happened to the build nodes and their Builds since the last look, for the evidence. Pure. */
import type { Fleet } from './fleet.ts';
import { podName } from './builds.ts';
import type { Entry } from './journal.ts';
import type { Event } from './kubernetes.ts';
import { leavingOf, saidBy, unreadySince } from './leaving.ts';
import type { Rolling } from './state.ts';

/** Whole seconds, and watches that lag: what is told twice is kept once by the evidence. */
const OVERLAP_MS = 2000;

/**
 * Since the newest moment that the cluster had dated by then, `clusterTime`: its clock may be any time off a function's.
 * Before the first look only the function's own moment is known.
 */
export function happenings(
  { wholeLookAt, clusterTime = wholeLookAt }: Pick<Rolling, 'wholeLookAt' | 'clusterTime'>,
  fleet: Fleet,
  events: readonly Event[],
): Entry[] {
  const from = Date.parse(clusterTime) - OVERLAP_MS;
  const isSince = (then: string | undefined): then is string =>
    then !== undefined && Date.parse(then) >= from;
  return [
    ...comings(fleet, isSince),
    ...unready(fleet, isSince),
    ...leavings(fleet, events, isSince),
    ...departures(fleet, events, isSince),
    ...evictions(events, isSince),
  ];
}

/**
 * The newest moment that the API server or Karpenter has dated; undefined where they say none. When an Event came about
 * last is said by whoever wrote it: anybody else's whose clock is ahead would hide what happens from then on.
 */
export function clusterTimeOf(fleet: Fleet, events: readonly Event[]): string | undefined {
  const dated = [
    ...events.map(({ metadata, source, lastTimestamp }) =>
      source?.component === KARPENTER ? lastTimestamp : metadata.creationTimestamp,
    ),
    ...fleet.nodes.flatMap(({ claim, pods }) => [
      claim?.metadata.creationTimestamp,
      claim?.metadata.deletionTimestamp,
      ...pods.map(({ metadata }) => metadata.creationTimestamp),
    ]),
  ].filter((at) => typeof at === 'string');
  return dated.sort().at(-1);
}

/** As its Events name their source. */
const KARPENTER = 'karpenter';

type IsSince = (then: string | undefined) => then is string;

/** Builds that came to a build node: what became of them is asked for at the end. */
const comings = (fleet: Fleet, isSince: IsSince): Entry[] =>
  fleet.nodes.flatMap(({ name: node, pods, builds }) =>
    pods
      .filter((pod) => builds.includes(podName(pod)) && isSince(pod.metadata.creationTimestamp))
      .map((pod) => ({ what: 'build', at: pod.metadata.creationTimestamp, build: podName(pod), node })),
  );

/** Nodes that are on their way out; a hold goes with its node. */
const leavings = (fleet: Fleet, events: readonly Event[], isSince: IsSince): Entry[] =>
  fleet.nodes.flatMap((node): Entry[] => {
    const at = node.claim?.metadata.deletionTimestamp;
    const leaving = leavingOf(node, events);
    if (leaving === undefined || !isSince(at)) return [];
    return [{ what: 'left', at, node: node.name, ...leaving, builds: node.builds }];
  });

/** Nodes that a look comes too late for: what Karpenter said of them is kept for an hour. */
const departures = (fleet: Fleet, events: readonly Event[], isSince: IsSince): Entry[] => {
  const present = new Set(fleet.nodes.flatMap(({ name, claim }) => [name, claim?.metadata.name]));
  return events.flatMap((event): Entry[] => {
    const { involvedObject, lastTimestamp: at } = event;
    const said = saidBy(event);
    // By the NodeClaim's name too: it may have been planned before it had a node.
    const gone = ['Node', 'NodeClaim'].includes(involvedObject.kind) && !present.has(involvedObject.name);
    return said !== undefined && gone && isSince(at)
      ? [{ what: 'left', at, node: involvedObject.name, ...said, builds: [] }]
      : [];
  });
};

/** Nodes that stopped being Ready: one that is gone later was repaired, or broke for good. */
const unready = (fleet: Fleet, isSince: IsSince): Entry[] =>
  fleet.nodes.flatMap(({ name, node: object }): Entry[] => {
    const at = object && unreadySince(object);
    return isSince(at) ? [{ what: 'unready', at, node: name }] : [];
  });

/** In Karpenter's words: a drain evicts a pod, and deletes it where the grace of its node is over. */
const EVICTIONS = new Set(['Evicted', 'Disrupted']);

const evictions = (events: readonly Event[], isSince: IsSince): Entry[] =>
  events.flatMap(({ reason, message, involvedObject, lastTimestamp, metadata }): Entry[] =>
    EVICTIONS.has(reason) && involvedObject.kind === 'Pod' && isSince(lastTimestamp)
      ? [
          {
            what: 'evicted',
            at: lastTimestamp,
            pod: `${metadata.namespace ?? 'default'}/${involvedObject.name}`,
            why: message,
          },
        ]
      : [],
  );
