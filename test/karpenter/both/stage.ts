/** Sets a scenario's rack up on the real cluster: class, pool, nodes, pods, parameters, as they are at its start. */
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { DO_NOT_DISRUPT } from '../../../rollout/naming.ts';
import type { Scenario, ScenarioParameter } from '../../../simulator/scenario/scenario.ts';
import { DISCOVERY } from '../account.ts';
import { discoveredBy } from '../objects.ts';
import { verbsOf } from '../verbs.ts';
import { CLUSTER } from '../world.ts';
import type { Theatre } from './theatre.ts';
import { followMachines, type Machine, type Machines } from './machines.ts';
import {
  buildObject,
  classObject,
  managersOf,
  parkedObjects,
  podName,
  poolObject,
  seatObject,
} from './objects.ts';
import type { Sight } from './sight.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CLASSES = '/apis/karpenter.k8s.aws/v1/ec2nodeclasses';

export interface Stage {
  rack: string;
  scenario: Scenario;
  machines: Machines;
  /** The machine of each node that the scenario names. */
  cast: ReadonlyMap<string, Machine>;
  hands: Hands;
}

/** What people do to a rack. */
type Hands = ReturnType<typeof handsOn>;

export async function setStage(world: Theatre, sight: Sight, scenario: Scenario): Promise<Stage> {
  const rack = scenario.name;
  const hands = handsOn(world, rack);
  const machines = followMachines(rack);
  sight.onSnapshot((snapshot) => {
    machines.take(snapshot);
  });
  await hands.create(CLASSES, classObject(rack, scenario, world.account.imageId));
  await hands.create('/apis/karpenter.sh/v1/nodepools', poolObject(rack, scenario));
  if (scenario.registered) {
    await put(
      `${world.product.settings.RECORD_PREFIX}${rack}/registration`,
      JSON.stringify({ rack, cluster: CLUSTER, nodePool: rack }),
    );
  }
  for (const [key, parameter] of Object.entries(scenario.parameters)) await hands.set(key, parameter);
  await world.until(`EC2NodeClass ${rack} is Ready`, () => isReady(machines, 'True'));

  for (const node of scenario.nodes) await hands.create(PODS, seatObject(rack, node));
  await world.until(
    `${scenario.nodes.length} nodes of ${rack} are initialised`,
    () => {
      const all = machines.all();
      return (
        // A node may be there before its seat is bound to it.
        scenario.nodes.every(({ name }) => world.kubelet.fates.has(podName(rack, `seat-${name}`))) &&
        all.length === scenario.nodes.length &&
        all.every(({ isInitialized, node }) => isInitialized && node !== undefined)
      );
    },
    240,
  );
  const byAge = machines
    .all()
    .sort((one, other) => `${one.createdAt}${one.claim}`.localeCompare(`${other.createdAt}${other.claim}`));
  const cast = new Map(scenario.nodes.map(({ name }, index) => [name, present(byAge[index], name)]));
  const stage = { rack, scenario, machines, cast, hands };
  await furnish(world, stage);
  if ((scenario.karpenter.classReady ?? Number.POSITIVE_INFINITY) > AT_ONCE_MS) {
    await hands.breakClass();
    await world.until(`EC2NodeClass ${rack} is not Ready`, () => isReady(machines, 'False'));
  }
  await hands.patch(`${CLASSES}/${rack}`, { metadata: { managedFields: managersOf(rack, scenario) } });
  return stage;
}

/** Oldest first. */
export const executionsOf = ({ product }: Theatre, rack: string) =>
  product.executions.filter(({ name }) => new RegExp(`^${rack}-\\d+$`).test(name));

/** What Karpenter needs for it by itself, or less. */
export const AT_ONCE_MS = 2_000;

/** Puts everything in its place that is there at the start, and then takes the seats away. */
async function furnish(world: Theatre, { rack, scenario, cast, hands }: Stage): Promise<void> {
  for (const node of scenario.nodes) {
    const { node: real = '', instanceId, options } = present(cast.get(node.name), node.name);
    if (
      node.httpTokens !== options.httpTokens ||
      node.httpPutResponseHopLimit !== options.httpPutResponseHopLimit
    ) {
      await hands.modifyInstance(instanceId, node);
    }
    if (node.doNotDisrupt) {
      await hands.patch(`/api/v1/nodes/${real}`, { metadata: { annotations: { [DO_NOT_DISRUPT]: 'true' } } });
    }
    for (const pod of node.pods) await park(world, rack, parkedObjects(rack, pod, real), hands);
    for (const build of node.builds.filter(({ startsAt }) => startsAt <= 0)) {
      await hands.create(PODS, buildObject(rack, build, real));
      await world.until(`Build ${build.name} of ${rack} runs`, () =>
        world.kubelet.fates.has(podName(rack, build.name)),
      );
    }
  }
  for (const node of scenario.nodes) await hands.remove(`${PODS}/${podName(rack, `seat-${node.name}`)}`);
  await world.until(`the seats of ${rack} are gone`, () =>
    scenario.nodes.every(
      ({ name }) => world.kubelet.fates.get(podName(rack, `seat-${name}`))?.ended !== undefined,
    ),
  );
}

/** A ReplicaSet takes on a pod that fits its selector and has no owner, wherever that runs. */
async function park(
  world: Theatre,
  rack: string,
  { pod, replicaSet, budget }: ReturnType<typeof parkedObjects>,
  hands: Hands,
): Promise<void> {
  const { name } = pod.metadata;
  if (budget !== undefined) {
    await hands.create('/apis/policy/v1/namespaces/default/poddisruptionbudgets', budget);
  }
  await hands.create(PODS, pod);
  await world.until(`pod ${name} runs`, () => world.kubelet.fates.has(name));
  await hands.create('/apis/apps/v1/namespaces/default/replicasets', replicaSet);
  await world.until(`pod ${name} of ${rack} is its ReplicaSet's`, async () => {
    const pods = await world.cluster.list('Pod');
    const its = pods.filter(({ metadata }) =>
      metadata.ownerReferences?.some((owner) => owner.kind === 'ReplicaSet' && owner.name === name),
    );
    return its.length === 1 && its[0]?.metadata.name === name;
  });
}

const isReady = (machines: Machines, is: 'True' | 'False'): boolean =>
  (machines.nodeClass()?.status?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === is,
  );

function present<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`there is no machine for node ${name}`);
  return value;
}

function handsOn({ api, ec2, product }: Theatre, rack: string) {
  const parameterName = (key: string): string => `${product.settings.PARAMETER_PREFIX}${rack}/${key}`;
  const { create, merge, remove } = verbsOf(api);
  const patch = (path: string, body: object, manager = 'kubectl-edit'): Promise<unknown> =>
    merge(path, body, manager);
  return {
    patch,
    create,
    remove,
    /** The Build ends in so many milliseconds. */
    annotatePod: (pod: string, annotations: Record<string, string>): Promise<unknown> =>
      patch(`${PODS}/${podName(rack, pod)}`, { metadata: { annotations } }),
    addBuild: (
      build: Parameters<typeof buildObject>[1],
      annotations: Record<string, string>,
      node?: string,
    ) => {
      const { metadata, spec } = buildObject(rack, build, node);
      return create(PODS, { metadata: { ...metadata, annotations }, spec });
    },
    editClass: (options: object, manager: string): Promise<unknown> =>
      patch(`${CLASSES}/${rack}`, { spec: { metadataOptions: options } }, manager),
    /** A class that selects no security group is not Ready. */
    breakClass: (): Promise<unknown> =>
      patch(`${CLASSES}/${rack}`, { spec: { securityGroupSelectorTerms: discoveredBy('nothing') } }),
    mendClass: (): Promise<unknown> =>
      patch(`${CLASSES}/${rack}`, { spec: { securityGroupSelectorTerms: discoveredBy(DISCOVERY) } }),
    async modifyInstance(
      InstanceId: string,
      options: { httpTokens?: string; httpPutResponseHopLimit?: number },
    ): Promise<void> {
      const form = new URLSearchParams({ Action: 'ModifyInstanceMetadataOptions', InstanceId });
      const { httpTokens, httpPutResponseHopLimit } = options;
      if (httpTokens !== undefined) form.set('HttpTokens', httpTokens);
      if (httpPutResponseHopLimit !== undefined) {
        form.set('HttpPutResponseHopLimit', String(httpPutResponseHopLimit));
      }
      await ec2.answer(form);
    },
    parameterName,
    set: (key: string, parameter: ScenarioParameter): Promise<void> =>
      put(parameterName(key), parameter.value, parameter.type),
    async unset(key: string): Promise<void> {
      await new SSMClient({}).send(new DeleteParameterCommand({ Name: parameterName(key) }));
    },
  };
}

async function put(Name: string, Value: string, Type: ScenarioParameter['type'] = 'String'): Promise<void> {
  await new SSMClient({}).send(new PutParameterCommand({ Name, Value, Type, Overwrite: true }));
}
