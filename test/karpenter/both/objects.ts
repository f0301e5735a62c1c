/**
 * What a scenario's rack is made of on a real API server: the simulator's own objects, with what only a real cluster
 * asks for. Racks of one cluster are told apart by the name of their scenario. Pure.
 */
import { buildDraft, classDraft, parkedDraft, poolDraft } from '../../../simulator/cluster/objects.ts';
import { stamp } from '../../../simulator/cluster/names.ts';
import { buildOf } from '../../../simulator/run/world.ts';
import type { Scenario, ScenarioBuild, ScenarioNode } from '../../../simulator/scenario/scenario.ts';
import { LARGE } from '../neighbours.ts';
import { nodeClassOf } from '../objects.ts';

/** Of four cpus about two hundredths are the node's own. */
const SHARE = 0.95;
const CPUS = 4;

export const podName = (rack: string, pod: string): string => `${rack}-${pod}`;

const requests = (cpu: number) => ({ requests: { cpu: `${String(Math.round(cpu * SHARE * 1000))}m` } });
const ofPool = (rack: string) => ({ nodeSelector: { 'karpenter.sh/nodepool': rack } });

export const classObject = (rack: string, { classes }: Scenario, imageId: string) =>
  nodeClassOf(rack, imageId, classDraft(rack, classes['build'] ?? {}, new Date()).spec.metadataOptions);

/**
 * Those whom the scenario has manage the class, and one who made the rest of it: of an object that nobody at all
 * manages an API server keeps no managers from then on.
 */
export const managersOf = (rack: string, { classes }: Scenario): unknown[] => {
  const { managedFields = [] } = classDraft(rack, classes['build'] ?? {}, new Date()).metadata;
  const maker = {
    manager: 'maker',
    operation: 'Update',
    apiVersion: 'karpenter.k8s.aws/v1',
    time: stamp(new Date()),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:amiFamily': {} } },
  };
  return [...managedFields, maker];
};

export const poolObject = (rack: string, { pools }: Scenario) => {
  const pool = pools['build'];
  if (pool === undefined) throw new Error(`${rack} has no pool build`);
  const { kind, metadata, spec } = poolDraft(rack, {
    class: rack,
    builds: true,
    limits: pool.limits.cpu === null ? {} : { cpu: pool.limits.cpu },
    budgets: pool.budgets,
    consolidateAfterMs: pool.consolidateAfter,
    expireAfterMs: pool.expireAfter,
    terminationGracePeriodMs: pool.terminationGracePeriod,
  });
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [LARGE] },
  ];
  const template = { ...spec.template, spec: { ...spec.template.spec, requirements } };
  return {
    apiVersion: 'karpenter.sh/v1',
    kind,
    metadata: { name: metadata.name },
    spec: { ...spec, template },
  };
};

/** A Build; bound to a node from the start where one is given. */
export function buildObject(rack: string, build: ScenarioBuild, node?: string) {
  const { metadata, spec } = buildDraft({ ...buildOf(build), ...(node !== undefined && { node }) });
  return {
    metadata: { name: podName(rack, build.name), labels: metadata.labels },
    spec: {
      ...spec,
      ...ofPool(rack),
      restartPolicy: 'Never',
      containers: [{ name: 'build', image: 'it', resources: requests(build.cpu) }],
    },
  };
}

/** Takes a whole node for itself until everything is in its place: so each has its own. */
export const seatObject = (rack: string, node: ScenarioNode) => ({
  metadata: { name: podName(rack, `seat-${node.name}`) },
  spec: {
    ...ofPool(rack),
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    containers: [{ name: 'seat', image: 'it', resources: requests(CPUS) }],
  },
});

/** A pod of a ReplicaSet on its node, with the ReplicaSet that takes it on, and its budget where it has one. */
export function parkedObjects(rack: string, pod: ScenarioNode['pods'][number], node: string) {
  const labels = { ...pod.labels, app: podName(rack, pod.pdb ?? pod.name) };
  const { spec: parked } = parkedDraft({ ...pod, node }, true, undefined);
  const spec = {
    ...parked,
    ...ofPool(rack),
    containers: [{ name: 'main', image: 'it', resources: requests(pod.cpu) }],
  };
  const { nodeName: _, ...anywhere } = spec;
  const name = podName(rack, pod.name);
  const selector = { matchLabels: labels };
  const hasBudget = pod.pdb !== null || !pod.evictable;
  return {
    pod: { metadata: { name, labels }, spec },
    replicaSet: {
      metadata: { name },
      spec: { replicas: 1, selector, template: { metadata: { labels }, spec: anywhere } },
    },
    ...(hasBudget && {
      budget: {
        metadata: { name: labels.app },
        spec: { selector, maxUnavailable: pod.evictable ? 1 : 0 },
      },
    }),
  };
}
