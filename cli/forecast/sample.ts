/** One way in which a rack may go on: what cannot be known is drawn, the same for the same seed. */
import type { Chance } from '../../simulator/parts.ts';
import { apiWildcards } from '../../simulator/scenario/names.ts';
import type { Scenario, ScenarioBuild } from '../../simulator/scenario/scenario.ts';
import { lengthExceededBy, type Prior, type Range } from './prior.ts';

/** What is drawn includes the seed of everything that is random in the run itself. */
export function sampleOf(base: Scenario, prior: Prior, chance: Chance): Scenario {
  const drawn = ({ lowMs, highMs }: Range): number => Math.round(chance.between(lowMs, highMs));
  return {
    ...withLengths(approved(base), (ageMs) => lengthExceededBy(prior.buildLength, ageMs, 1 - chance.next())),
    seed: Math.floor(chance.next() * 2 ** 31),
    karpenter: {
      ...base.karpenter,
      launch: drawn(prior.launch),
      register: drawn(prior.register),
      initialize: drawn(prior.initialize),
      classReady: drawn(prior.classReady),
    },
    ec2: { ...base.ec2, applyDelay: drawn(prior.applyDelay) },
    faults: [...base.faults, ...takingTime(drawnByMagnitude(prior.call, chance))],
  };
}

/** Half of all are shorter than the geometric mean of the two. */
const drawnByMagnitude = ({ lowMs, highMs }: Range, chance: Chance): number =>
  Math.round(lowMs * (highMs / lowMs) ** chance.next());

/** Each call takes so long; without, a rollout would look and write at the very second that it waits for. */
const takingTime = (latency: number): Scenario['faults'] =>
  apiWildcards.map((api) => ({ api, error: null, latency, from: 0, until: null, share: 1 }));

/** Everything is quick: Builds end at once, nodes are there in seconds. What happens even so is certain. */
export function atBest(base: Scenario, prior: Prior): Scenario {
  return {
    ...withLengths(approved(base), (ageMs) => ageMs + 1_000),
    seed: 1,
    karpenter: { ...base.karpenter, launch: 1_000, register: 1_000, initialize: 1_000, classReady: 1_000 },
    ec2: { ...base.ec2, applyDelay: prior.applyDelay.lowMs },
  };
}

/** No Build ends, and no node can be launched. What does not happen even so never does. */
export function atWorst(base: Scenario, prior: Prior): Scenario {
  return {
    ...withLengths(approved(base), () => base.runFor * 2),
    seed: 1,
    karpenter: { ...base.karpenter, capacity: { kind: 'none' }, classReady: prior.classReady.highMs },
    ec2: { ...base.ec2, applyDelay: prior.applyDelay.highMs },
    faults: [...base.faults, ...takingTime(prior.call.highMs)],
  };
}

/** How long a rollout waits for a person says nothing of the rollout. */
const approved = (base: Scenario): Scenario => ({
  ...base,
  parameters: { ...base.parameters, imds_rollout_approval: { value: 'never', type: 'String' } },
  timeline: base.timeline.filter(({ action }) => action.kind !== 'command' || action.command !== 'approve'),
});

function withLengths(base: Scenario, lengthAt: (ageMs: number) => number): Scenario {
  const lengthened = <B extends ScenarioBuild>(build: B, ageMs: number): B => ({
    ...build,
    runsFor: Math.round(lengthAt(ageMs)),
  });
  return {
    ...base,
    nodes: base.nodes.map((node) => ({
      ...node,
      builds: node.builds.map((build) => lengthened(build, -build.startsAt)),
    })),
    timeline: base.timeline.map((entry) =>
      entry.action.kind === 'build'
        ? { ...entry, action: { ...entry.action, build: lengthened(entry.action.build, 0) } }
        : entry,
    ),
  };
}
