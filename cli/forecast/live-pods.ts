/** What runs on a node, as a scenario has it: its Builds and its other pods. */
import { wouldBeBuild } from '../../rollout/builds.ts';
import type { Pod, PodDisruptionBudget } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import { cpuOf } from '../../simulator/cluster/names.ts';
import { buildLabels } from '../../simulator/cluster/objects.ts';
import type { Live } from './live.ts';
import { durationText, type Notes, type WrittenBuild, type WrittenPod } from './written.ts';

/** How long a Build is taken to run, counted from its start, by how long it has run already; in milliseconds. */
export type Expected = (ageMs: number) => number;

export interface PodReader {
  isBuild: (pod: Pod) => boolean;
  build: (pod: Pod) => WrittenBuild & { startsAt: string };
  pod: (pod: Pod) => WrittenPod;
  /** Of a Build that waits for a node. */
  waiting: (pod: Pod) => WrittenBuild;
  /** namespace/name by the name that it has in the scenario. */
  names: ReadonlyMap<string, string>;
}

export function createPodReader(live: Live, expected: Expected, notes: Notes): PodReader {
  const { at } = live;
  const names = new Map<string, string>();
  const shared = namesTwice(live.pods.map(({ metadata }) => metadata.name));
  const budgetsTwice = namesTwice((live.budgets ?? []).map(({ metadata }) => metadata.name));
  const nameOf = ({ metadata: { namespace = 'default', name } }: Pod): string =>
    shared.has(name) ? `${namespace}-${name}` : name;

  function common(pod: Pod): Omit<WrittenBuild, 'runsFor'> {
    const name = nameOf(pod);
    const { namespace = 'default' } = pod.metadata;
    names.set(name, `${namespace}/${pod.metadata.name}`);
    if (pod.metadata.annotations?.[DO_NOT_DISRUPT] === 'true')
      notes.add(`${name}: karpenter.sh/do-not-disrupt on a Build, which is none of a scenario's`);
    noteMemory(pod, notes);
    const labels = ownLabels(pod);
    return {
      name,
      ...(namespace !== 'builds' && { namespace }),
      cpu: Math.max(LEAST_CPU, cpuOfPod(pod)),
      ...(Object.keys(labels).length > 0 && { labels }),
    };
  }

  return {
    names,
    // One that the policy's selector leaves out ends all the same: the scenario has the selector too.
    isBuild: (pod) => wouldBeBuild(pod, () => true, at),
    build(pod) {
      const age = at.getTime() - startOf(pod).getTime();
      return { ...common(pod), runsFor: durationText(expected(age)), startsAt: durationText(-age) };
    },
    waiting: (pod) => ({ ...common(pod), runsFor: durationText(expected(0)) }),
    pod(pod) {
      noteMemory(pod, notes);
      const { namespace = 'default', ownerReferences = [], annotations } = pod.metadata;
      const owner = ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0];
      const [container] = pod.spec.containers ?? [];
      const covering = budgetsOf(pod, live.budgets ?? [], notes);
      const [budget] = covering;
      return {
        name: owner === undefined ? nameOf(pod) : pod.metadata.name,
        ...(namespace !== 'builds' && { namespace }),
        ownedBy: owner?.kind ?? null,
        ...(owner !== undefined && { owner: owner.name }),
        ...(cpuOfPod(pod) > 0 && { cpu: cpuOfPod(pod) }),
        ...(pod.spec.hostNetwork === true && { hostNetwork: true }),
        ...(container?.image !== undefined && { image: container.image }),
        ...(pod.spec.serviceAccountName !== undefined &&
          pod.spec.serviceAccountName !== 'default' && { serviceAccount: pod.spec.serviceAccountName }),
        ...(container?.securityContext?.privileged === true && { privileged: true }),
        ...(annotations?.[DO_NOT_DISRUPT] === 'true' && { doNotDisrupt: true }),
        ...(owner === undefined && Object.keys(ownLabels(pod)).length > 0 && { labels: ownLabels(pod) }),
        ...(budget !== undefined && {
          pdb: budgetsTwice.has(budget.metadata.name)
            ? `${namespace}-${budget.metadata.name}`
            : budget.metadata.name,
          // The eviction API refuses where several cover a pod.
          evictable: covering.length === 1 && (budget.status?.disruptionsAllowed ?? 0) > 0,
        }),
      };
    },
  };
}

/** When its kubelet took it on; of a pod that never said so, when it was made. */
const startOf = ({ status, metadata }: Pod): Date =>
  new Date(status?.startTime ?? metadata.creationTimestamp);

const namesTwice = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.filter((name, index) => names.indexOf(name) !== index));

/** A scenario wants a Build to ask for something. */
const LEAST_CPU = 0.001;

function cpuOfPod({ spec }: Pod): number {
  const asked = (spec.containers ?? []).reduce(
    (sum, { resources }) => sum + cpuOf(resources?.requests?.['cpu']),
    0,
  );
  return Math.round(asked * 1_000) / 1_000;
}

/** Those that a Build of a scenario does not have anyway. */
const ownLabels = ({ metadata: { labels = {} } }: Pod): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter(([key, value]) => buildLabels[key] !== value));

function noteMemory({ spec }: Pod, notes: Notes): void {
  if ((spec.containers ?? []).some(({ resources }) => resources?.requests?.['memory'] !== undefined))
    notes.add('requests of memory: pods are placed by their cpu alone');
}

function budgetsOf(
  { metadata: { namespace, labels = {} } }: Pod,
  budgets: readonly PodDisruptionBudget[],
  notes: Notes,
): PodDisruptionBudget[] {
  return budgets.filter((budget) => {
    if (budget.metadata.namespace !== namespace) return false;
    const wanted = Object.entries(budget.spec.selector?.matchLabels ?? {});
    if (wanted.length === 0) {
      notes.add(`PodDisruptionBudget ${budget.metadata.name}: it selects by no label alone`);
      return false;
    }
    return wanted.every(([key, value]) => labels[key] === value);
  });
}
