/** One rack of the world: a class, a pool, its Builds, and a person who sets its parameters. */
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import type { EC2NodeClass } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import { DISCOVERY } from './account.ts';
import { buildsOf, type Builds } from './builds.ts';
import { watch } from './history.ts';
import type { Machine } from './machines.ts';
import {
  discoveredBy,
  disruptionOf,
  nodeClassOf,
  nodePoolOf,
  podSpec,
  type MetadataOptions,
  type PoolOptions,
} from './objects.ts';
import type { RunningProduct } from './product.ts';
import { CLUSTER, type World } from './world.ts';
import { verbsOf } from './verbs.ts';
import { writeClass, type Writer } from './writers.ts';

export interface Rack extends Builds {
  name: string;
  product: RunningProduct;
  /** What changed at its machines, second by second, for the message of a test that fails. */
  history: readonly string[];
  /**
   * A pod of a ReplicaSet, which is no Build, and which a PodDisruptionBudget or its annotation keeps where it is.
   * Returns the machine that it runs on: Karpenter now and then launches two for one pod.
   */
  serve(service: string, keptBy?: 'budget' | 'annotation'): Promise<Machine>;
  /** A machine that Karpenter launched beside this one goes: its NodeClaim is deleted by hand. */
  aloneWith(machine: Machine): Promise<void>;
  /** How many nodes of the pool may be disrupted at a time, from now on. */
  budget(nodes: string): Promise<void>;
  /** The class is written again by whoever writes it beside the product. */
  write(metadataOptions: MetadataOptions): Promise<void>;
  /** The class selects no security group until it is mended. */
  breakClass(): Promise<void>;
  mendClass(): Promise<void>;
  set(parameters: Record<string, string>): Promise<void>;
  unset(...keys: string[]): Promise<void>;
  /** The rack's executions, oldest first. */
  executions(): ExecutionRecord[];
  /** Waits for the end of its newest execution. */
  concluded(): Promise<ExecutionRecord>;
  nodeClass(): Promise<EC2NodeClass>;
  stopWatching(): void;
}

export interface RackOptions {
  metadataOptions?: MetadataOptions;
  parameters?: Record<string, string>;
  pool?: PoolOptions;
  /** Who writes the class beside the product. */
  writer?: Writer;
  /** Which rolls it out: the world's own, where nothing is said. */
  product?: RunningProduct;
  /** The cluster that it is registered with; its objects are in the world's own in any case. */
  cluster?: string;
}

export async function createRack(world: World, name: string, options: RackOptions = {}): Promise<Rack> {
  const { api, cluster, kubelet } = world;
  const { product = world.product, writer = { manager: 'owner', how: 'update' } } = options;
  const { PARAMETER_PREFIX, RECORD_PREFIX } = product.settings;
  const ssm = new SSMClient({});
  const full = (build: string): string => `${name}-${build}`;
  const { create, merge, remove } = verbsOf(api);
  const put = async (Name: string, Value: string): Promise<void> => {
    await ssm.send(new PutParameterCommand({ Name, Value, Type: 'String', Overwrite: true }));
  };
  const parameter = (key: string): string => `${PARAMETER_PREFIX}${name}/${key}`;

  const write = (metadataOptions: MetadataOptions): Promise<void> =>
    writeClass(api, writer, nodeClassOf(name, world.account.imageId, metadataOptions));
  await write(options.metadataOptions ?? { httpTokens: 'optional', httpPutResponseHopLimit: 2 });
  await create('/apis/karpenter.sh/v1/nodepools', nodePoolOf(name, options.pool));
  await put(
    `${RECORD_PREFIX}${name}/registration`,
    JSON.stringify({ rack: name, cluster: options.cluster ?? CLUSTER, nodePool: name }),
  );
  for (const [key, value] of Object.entries({
    karpenter_enabled: 'true',
    build_node_enabled: 'true',
    ...options.parameters,
  })) {
    await put(parameter(key), value);
  }

  const nodeClass = async (): Promise<EC2NodeClass> => {
    const found = await cluster.get('EC2NodeClass', name);
    if (found === undefined) throw new Error(`there is no EC2NodeClass ${name}`);
    return found;
  };
  const ready = (is: 'True' | 'False'): Promise<void> =>
    world.until(`EC2NodeClass ${name} is Ready=${is}`, async () =>
      ((await nodeClass()).status?.conditions ?? []).some(
        ({ type, status }) => type === 'Ready' && status === is,
      ),
    );
  const selectSecurityGroups = (value: string): Promise<unknown> =>
    merge(`/apis/karpenter.k8s.aws/v1/ec2nodeclasses/${name}`, {
      spec: { securityGroupSelectorTerms: discoveredBy(value) },
    });
  await ready('True');

  const executions = (): ExecutionRecord[] =>
    product.executions.filter((execution) => /^-\d+$/.test(execution.name.replace(name, '')));

  const builds = buildsOf(world, name);
  const history = watch({
    machines: () => builds.machines(0),
    executions,
    fates: () => [...kubelet.fates].filter(([pod]) => pod.startsWith(`${name}-`)),
  });

  return {
    ...builds,
    name,
    product,
    history: history.lines,
    nodeClass,
    executions,
    write,
    stopWatching() {
      history.stop();
    },
    async serve(service, keptBy = 'budget') {
      const labels = { service: full(service) };
      const selector = { matchLabels: labels };
      const annotations = keptBy === 'annotation' ? { [DO_NOT_DISRUPT]: 'true' } : {};
      if (keptBy === 'budget') {
        await create('/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
          metadata: { name: full(service) },
          spec: { minAvailable: 1, selector },
        });
      }
      await create('/apis/apps/v1/namespaces/default/replicasets', {
        metadata: { name: full(service) },
        spec: { replicas: 1, selector, template: { metadata: { labels, annotations }, spec: podSpec(name) } },
      });
      // A node that has registered is not yet one that the pod runs on: a rollout would cordon it before.
      const itsNode = (): string | undefined =>
        [...kubelet.fates].find(([pod]) => pod.startsWith(`${full(service)}-`))?.[1].node;
      await world.until(`service ${full(service)} runs`, () => itsNode() !== undefined);
      const serving = (await builds.machines()).find(({ node }) => node === itsNode());
      if (serving === undefined) throw new Error(`service ${full(service)} runs on no machine`);
      return serving;
    },
    async aloneWith({ claim: kept }) {
      for (const { claim } of await builds.machines()) {
        if (claim !== kept) await remove(`/apis/karpenter.sh/v1/nodeclaims/${claim}`);
      }
      const alone = async (): Promise<boolean> => (await builds.machines()).length === 1;
      await world.until(`${kept} is alone in its pool`, alone);
    },
    async budget(nodes) {
      await merge(`/apis/karpenter.sh/v1/nodepools/${name}`, { spec: { disruption: disruptionOf(nodes) } });
    },
    async breakClass() {
      await selectSecurityGroups('nothing');
      await ready('False');
    },
    async mendClass() {
      await selectSecurityGroups(DISCOVERY);
      await ready('True');
    },
    async set(parameters) {
      // The first wait is shorter here than a slow machine may need to write all of them: events come after them.
      for (const [key, value] of Object.entries(parameters)) await put(parameter(key), value);
      for (const key of Object.keys(parameters)) await product.changed(parameter(key), 'Update');
    },
    async unset(...keys) {
      for (const key of keys) await ssm.send(new DeleteParameterCommand({ Name: parameter(key) }));
      for (const key of keys) await product.changed(parameter(key), 'Delete');
    },
    async concluded() {
      await world.until(`the rollout of ${name} has ended`, () => {
        const last = executions().at(-1);
        return last !== undefined && last.status !== 'RUNNING';
      });
      const last = executions().at(-1);
      if (last === undefined) throw new Error(`${name} has no execution`);
      return last;
    },
  };
}
