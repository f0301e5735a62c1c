/** One rack of the world: a class, a pool, its Builds, and a person who sets its parameters. */
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import type { EC2NodeClass, NodeClaim } from '../../rollout/kubernetes.ts';
import { DO_NOT_DISRUPT } from '../../rollout/naming.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import { DISCOVERY, INSTANCE_PROFILE } from './account.ts';
import { RUNS_FOR, type Fate } from './kubelet.ts';
import { prices } from './neighbours.ts';
import { settings } from './product.ts';
import { CLUSTER, type World } from './world.ts';

/** A build node as it is at one moment, with its instance. */
export interface Machine {
  claim: string;
  /** Absent before it registers. */
  node?: string;
  instanceId: string;
  /** `optional/2`. */
  options: string;
  applied: boolean;
  drifted: boolean;
  cordoned: boolean;
  protected: boolean;
}

export interface Rack {
  name: string;
  /** What changed at its machines, second by second, for the message of a test that fails. */
  history: readonly string[];
  startBuild(name: string, runsFor?: number): Promise<void>;
  /** The Build ends in so many seconds. */
  endBuild(name: string, inSeconds: number): Promise<void>;
  /** A pod of a ReplicaSet, which is no Build, and which a PodDisruptionBudget keeps where it is. */
  serve(service: string): Promise<void>;
  /** The class selects no security group until it is mended. */
  breakClass(): Promise<void>;
  mendClass(): Promise<void>;
  /** Once the Build runs. */
  running(name: string): Promise<Fate>;
  fate(name: string): Fate | undefined;
  set(parameters: Record<string, string>): Promise<void>;
  unset(...keys: string[]): Promise<void>;
  /** The rack's executions, oldest first. */
  executions(): ExecutionRecord[];
  /** Waits for the end of its newest execution. */
  concluded(seconds: number): Promise<ExecutionRecord>;
  nodeClass(): Promise<EC2NodeClass>;
  machines(): Promise<Machine[]>;
  machineOf(build: string): Promise<Machine | undefined>;
  stopWatching(): void;
}

const MERGE_PATCH = 'application/merge-patch+json';
const PODS = '/api/v1/namespaces/default/pods';

export interface RackOptions {
  metadataOptions?: { httpTokens: 'optional' | 'required'; httpPutResponseHopLimit: number };
  parameters?: Record<string, string>;
}

export async function createRack(world: World, name: string, options: RackOptions = {}): Promise<Rack> {
  const { api, cluster, ec2, kubelet, product } = world;
  const ssm = new SSMClient({});
  const full = (build: string): string => `${name}-${build}`;
  const create = (path: string, body: object): Promise<unknown> =>
    api({ verb: 'create', resource: path, method: 'POST', path, body });
  const patch = (path: string, body: object): Promise<unknown> =>
    api({ verb: 'patch', resource: path, method: 'PATCH', path, contentType: MERGE_PATCH, body });
  const put = async (Name: string, Value: string): Promise<void> => {
    await ssm.send(new PutParameterCommand({ Name, Value, Type: 'String', Overwrite: true }));
  };
  const parameter = (key: string): string => `${settings.PARAMETER_PREFIX}${name}/${key}`;

  await create('/apis/karpenter.k8s.aws/v1/ec2nodeclasses', {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name },
    spec: {
      amiFamily: 'Custom',
      amiSelectorTerms: [{ id: world.account.imageId }],
      instanceProfile: INSTANCE_PROFILE,
      subnetSelectorTerms: discoveredBy(DISCOVERY),
      securityGroupSelectorTerms: discoveredBy(DISCOVERY),
      metadataOptions: options.metadataOptions ?? { httpTokens: 'optional', httpPutResponseHopLimit: 2 },
    },
  });
  await create('/apis/karpenter.sh/v1/nodepools', {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      // Idle nodes stay until a rollout replaces them, and budgets hold nothing back.
      disruption: {
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: 'Never',
        budgets: [{ nodes: '100%' }],
      },
      template: {
        spec: {
          expireAfter: '720h',
          taints: [{ key: 'dedicated', value: name, effect: 'NoSchedule' }],
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name },
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
            { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
            { key: 'node.kubernetes.io/instance-type', operator: 'In', values: Object.keys(prices) },
          ],
        },
      },
    },
  });
  await put(
    `${settings.RECORD_PREFIX}${name}/registration`,
    JSON.stringify({ rack: name, cluster: CLUSTER, nodePool: name }),
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
    patch(`/apis/karpenter.k8s.aws/v1/ec2nodeclasses/${name}`, {
      spec: { securityGroupSelectorTerms: discoveredBy(value) },
    });
  await ready('True');

  const machines = async (): Promise<Machine[]> => {
    const [claims, nodes, instances] = await Promise.all([
      cluster.list('NodeClaim'),
      cluster.list('Node'),
      ec2.instances(),
    ]);
    return claims
      .filter(({ spec }) => spec.nodeClassRef.name === name)
      .flatMap((claim) => {
        const instanceId = (claim.status?.providerID ?? '').split('/').at(-1);
        const instance = instances.find(({ InstanceId }) => InstanceId === instanceId);
        if (instance === undefined) return [];
        // The claim learns its node's name after the node is there, and a Build may run in between.
        const node = nodes.find(({ spec }) => spec.providerID === claim.status?.providerID);
        const { HttpTokens, HttpPutResponseHopLimit, State } = instance.MetadataOptions;
        return [
          {
            claim: claim.metadata.name,
            ...(node !== undefined && { node: node.metadata.name }),
            instanceId: instance.InstanceId,
            options: `${HttpTokens}/${HttpPutResponseHopLimit}`,
            applied: State === 'applied',
            drifted: isTrue(claim, 'Drifted'),
            cordoned: node?.spec.unschedulable === true,
            protected: node?.metadata.annotations?.[DO_NOT_DISRUPT] === 'true',
          },
        ];
      });
  };

  const history: string[] = [];
  const seen = new Map<string, string>();
  const startedAt = Date.now();
  const note = (text: string): void => {
    history.push(`${((Date.now() - startedAt) / 1000).toFixed(1)} s ${text}`);
  };
  const look = async (): Promise<void> => {
    const states = new Map(
      (await machines()).map(({ claim, ...rest }) => [claim, JSON.stringify(rest)] as const),
    );
    for (const { payload, state = '', name: execution, cause } of executions()) {
      states.set(
        execution,
        [state, payload['waitsFor'], payload['outcome'], cause].filter(Boolean).map(String).join(': '),
      );
    }
    for (const [build, fate] of kubelet.fates) {
      if (build.startsWith(`${name}-`)) states.set(build, JSON.stringify(fate));
    }
    for (const [what, is] of states) if (seen.get(what) !== is) note(`${what} ${is}`);
    for (const what of seen.keys()) if (!states.has(what)) note(`${what} is gone`);
    seen.clear();
    for (const [what, is] of states) seen.set(what, is);
  };
  const timer = setInterval(() => {
    // The API server may be away.
    look().catch(() => undefined);
  }, 1000);

  const executions = (): ExecutionRecord[] =>
    product.executions.filter((execution) => execution.name.startsWith(`${name}-`));

  return {
    name,
    history,
    nodeClass,
    machines,
    executions,
    stopWatching() {
      clearInterval(timer);
    },
    async startBuild(build, runsFor) {
      await create(PODS, {
        metadata: {
          name: full(build),
          annotations: runsFor === undefined ? {} : { [RUNS_FOR]: String(runsFor) },
        },
        spec: { ...podSpec(name), restartPolicy: 'Never' },
      });
    },
    async serve(service) {
      const labels = { service: full(service) };
      const selector = { matchLabels: labels };
      await create('/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
        metadata: { name: full(service) },
        spec: { minAvailable: 1, selector },
      });
      await create('/apis/apps/v1/namespaces/default/replicasets', {
        metadata: { name: full(service) },
        spec: { replicas: 1, selector, template: { metadata: { labels }, spec: podSpec(name) } },
      });
      // A node that has registered is not yet one that the pod runs on: a rollout would cordon it before.
      const runs = (): boolean =>
        [...kubelet.fates.keys()].some((pod) => pod.startsWith(`${full(service)}-`));
      await world.until(`service ${full(service)} runs`, runs, 180);
    },
    async breakClass() {
      await selectSecurityGroups('nothing');
      await ready('False');
    },
    async mendClass() {
      await selectSecurityGroups(DISCOVERY);
      await ready('True');
    },
    async endBuild(build, inSeconds) {
      await patch(`${PODS}/${full(build)}`, {
        metadata: { annotations: { [RUNS_FOR]: String(inSeconds) } },
      });
    },
    fate: (build) => kubelet.fates.get(full(build)),
    async running(build) {
      await world.until(`Build ${full(build)} runs`, () => kubelet.fates.has(full(build)), 180);
      const fate = kubelet.fates.get(full(build));
      if (fate === undefined) throw new Error(`Build ${full(build)} is forgotten`);
      return fate;
    },
    async set(parameters) {
      for (const [key, value] of Object.entries(parameters)) {
        await put(parameter(key), value);
        await product.changed(parameter(key), 'Update');
      }
    },
    async unset(...keys) {
      for (const key of keys) {
        await ssm.send(new DeleteParameterCommand({ Name: parameter(key) }));
        await product.changed(parameter(key), 'Delete');
      }
    },
    async concluded(seconds) {
      await world.until(
        `the rollout of ${name} has ended`,
        () => {
          const last = executions().at(-1);
          return last !== undefined && last.status !== 'RUNNING';
        },
        seconds,
      );
      const last = executions().at(-1);
      if (last === undefined) throw new Error(`${name} has no execution`);
      return last;
    },
    async machineOf(build) {
      const node = kubelet.fates.get(full(build))?.node;
      return (await machines()).find((machine) => machine.node === node);
    },
  };
}

const isTrue = ({ status }: NodeClaim, type: string): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

const discoveredBy = (value: string) => [{ tags: { 'karpenter.sh/discovery': value } }];

/** On the rack's own nodes, and with more than half of one: each pod has its own. */
const podSpec = (pool: string) => ({
  nodeSelector: { 'karpenter.sh/nodepool': pool },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  containers: [{ name: 'it', image: 'it', resources: { requests: { cpu: '1200m' } } }],
});
