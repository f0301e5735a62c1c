/**
 * A rack on a real API server, with nobody at work there but who writes the class and the service: account and clock
 * are the simulator's, Karpenter is a stand-in that does what is said of the class and takes what is cordoned.
 */
import { createHash } from 'node:crypto';
import { inject } from 'vitest';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import type { EC2NodeClass, Event, Node } from '../../rollout/kubernetes.ts';
import { NODECLASS_HASH, NODECLASS_HASH_VERSION } from '../../rollout/naming.ts';
import { classOptions, type AllOptions } from '../../rollout/options.ts';
import type { Cluster, Notice } from '../../rollout/ports.ts';
import type { Concluding, State } from '../../rollout/state.ts';
import { createAccount } from '../../simulator/account/account.ts';
import { createChance } from '../../simulator/account/chance.ts';
import { createGate } from '../../simulator/account/gate.ts';
import { loadProduct } from '../../simulator/run/product.ts';
import { clientOf } from './control-plane.ts';
import { handClock } from './hand-clock.ts';
import { verbsOf } from './verbs.ts';

const POOL = 'build';
const CLASS = 'build';
const CLUSTER = 'by-hand';
const RACK = 'demo';
const CLASSES = '/apis/karpenter.k8s.aws/v1/ec2nodeclasses';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const POOLS = '/apis/karpenter.sh/v1/nodepools';
const NODES = '/api/v1/nodes';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const EVENTS = '/api/v1/namespaces/default/events';

export interface RackByHand extends AsyncDisposable {
  /** The administrator, as whom everybody else writes. */
  api: ApiClient;
  set(key: string, value: string): void;
  unset(key: string): void;
  /** Launches a node from the class as it is. */
  launch(): Promise<string>;
  /** A whole execution, one look after the other; `before` each step somebody may do something. */
  roll(before?: (state: State) => Promise<void>): Promise<Concluding>;
  /** What reconcile would do now, in its words. */
  visit(): Promise<unknown>;
  nodeClass(): Promise<EC2NodeClass>;
  options(): Promise<AllOptions>;
  node(name: string): Promise<Node | undefined>;
  /** The patches of the class that the service made, and those of nodes. */
  writes: { nodeClass: number; nodes: number };
  notices(): readonly Pick<Notice, 'type' | 'detail'>[];
  /** Events about the class, as kubectl shows them. */
  events(): Promise<Pick<Event, 'reason' | 'message'>[]>;
  executions(): number;
}

export async function rackByHand(parameters: Record<string, string> = {}): Promise<RackByHand> {
  const api = clientOf(inject('controlPlane'), 'admin');
  const verbs = verbsOf(api);
  const clean = async (): Promise<void> => {
    for (const path of [NODES, CLAIMS, POOLS, CLASSES, LEASES, EVENTS]) await verbs.clear(path);
  };
  await clean();
  const clock = handClock(new Date());
  const chance = createChance(1);
  const gate = createGate({ clock, chance, faults: [] });
  const cluster = createCluster(api, clock);
  const writes = { nodeClass: 0, nodes: 0 };
  const counted: Cluster = {
    ...cluster,
    patch: (kind, name, patch) => {
      if (kind === 'EC2NodeClass') writes.nodeClass += 1;
      if (kind === 'Node' || kind === 'NodeClaim') writes.nodes += 1;
      return cluster.patch(kind, name, patch);
    },
  };
  const account = createAccount({
    clock,
    chance,
    gate,
    ec2: {
      modifyBucket: { capacity: 100, refillPerSecond: 5, strangers: 0 },
      applyDelay: 2000,
      readStaleness: 0,
      httpTokensEnforced: false,
    },
    clusters: { connect: () => Promise.resolve(counted) },
    ...(await loadProduct()),
  });
  account.records.register({ rack: RACK, cluster: CLUSTER, nodePool: POOL });
  // Nothing is started by an event here: a test says when a rollout is due.
  const silently = (write: () => void): void => {
    account.eventBus.withFate({ fate: 'lost' }, write);
  };
  const set = (key: string, value: string): void => {
    silently(() => {
      account.parameterStore.set(RACK, key, value, {});
    });
  };
  for (const [key, value] of Object.entries({
    karpenter_enabled: 'true',
    build_node_enabled: 'true',
    ...parameters,
  })) {
    set(key, value);
  }

  const post = (path: string, body: object): Promise<unknown> => verbs.create(path, body);
  const patch = (path: string, body: object): Promise<unknown> => verbs.merge(path, body, 'karpenter');
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: CLASS };
  await post(POOLS, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: POOL },
    spec: { template: { spec: { nodeClassRef, requirements: [] } } },
  });
  await post(LEASES, { metadata: { name: `imds-rollout-${CLASS}` } });

  const nodeClass = async (): Promise<EC2NodeClass> => {
    const found = await cluster.get('EC2NodeClass', CLASS);
    if (found === undefined) throw new Error(`there is no EC2NodeClass ${CLASS}`);
    return found;
  };
  const hashOf = ({ spec }: EC2NodeClass): string =>
    createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 16);

  /** Ready at the class's own generation, its hash in place, and what is cordoned and not protected replaced. */
  const karpenter = async (): Promise<void> => {
    const now = await nodeClass();
    const annotations = { [NODECLASS_HASH]: hashOf(now), [NODECLASS_HASH_VERSION]: 'v5' };
    if (now.metadata.annotations?.[NODECLASS_HASH] !== annotations[NODECLASS_HASH]) {
      await patch(`${CLASSES}/${CLASS}`, { metadata: { annotations } });
    }
    const ready = now.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.observedGeneration !== now.metadata.generation) {
      await patch(`${CLASSES}/${CLASS}/status`, {
        status: { conditions: [condition('Ready', clock.now(), now.metadata.generation)] },
      });
    }
    for (const claim of await cluster.list('NodeClaim')) {
      const node = claim.status?.nodeName && (await cluster.get('Node', claim.status.nodeName));
      if (!node || claim.metadata.annotations?.[NODECLASS_HASH] === annotations[NODECLASS_HASH]) continue;
      const isProtected = node.metadata.annotations?.['karpenter.sh/do-not-disrupt'] === 'true';
      if (isProtected) continue;
      account.ec2.machines.terminate(claim.status?.providerID?.split('/').at(-1) ?? '', 'drift');
      await verbs.remove(`${CLAIMS}/${claim.metadata.name}`);
      await verbs.remove(`${NODES}/${node.metadata.name}`);
    }
  };

  let executions = 0;
  return {
    api,
    set,
    unset: (key) => {
      silently(() => {
        account.parameterStore.unset(RACK, key);
      });
    },
    async launch() {
      await karpenter();
      const now = await nodeClass();
      const instance = account.ec2.machines.launch({
        zone: 'eu-west-1a',
        tags: { 'karpenter.k8s.aws/ec2nodeclass': CLASS, 'eks:eks-cluster-name': CLUSTER },
        metadataOptions: {
          ...classOptions(now),
          httpEndpoint: 'enabled',
          httpProtocolIpv6: 'disabled',
          instanceMetadataTags: 'disabled',
        },
      });
      account.ec2.begin();
      const name = `node-${instance.instanceId.slice(-8)}`;
      const providerID = `aws:///eu-west-1a/${instance.instanceId}`;
      const annotations = { [NODECLASS_HASH]: hashOf(now), [NODECLASS_HASH_VERSION]: 'v5' };
      const labels = { 'karpenter.sh/nodepool': POOL };
      await post(NODES, { metadata: { name, labels }, spec: { providerID } });
      await post(CLAIMS, {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name, labels, annotations },
        spec: { nodeClassRef, requirements: [] },
      });
      const launched = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type, clock.now()));
      await patch(`${CLAIMS}/${name}/status`, {
        status: { providerID, nodeName: name, conditions: launched },
      });
      return name;
    },
    async roll(before = () => Promise.resolve()) {
      await clock.advance(60_000);
      executions += 1;
      const execution = `${RACK}-by-hand-${executions}`;
      const startedAt = clock.now().toISOString();
      const task = async (name: string, state: object): Promise<State> =>
        (await account.lambda.invoke(name, { execution, startedAt, state }, execution)) as State;
      await karpenter();
      let state = await task('plan', { rack: RACK });
      for (let steps = 0; steps < 200; steps += 1) {
        await before(state);
        if ('lookAgainIn' in state) await clock.advance(state.lookAgainIn * 1000);
        await karpenter();
        const name = state.next === 'look' ? 'observe' : state.next;
        const after = await task(name, state);
        if (name === 'conclude' && after.next === 'conclude') return after;
        state = after;
      }
      throw new Error(`after 200 steps it is still ${JSON.stringify(state)}`);
    },
    visit: async () => {
      // At the quarter of an hour every rack is visited.
      const quarter = 15 * 60_000;
      await clock.advance(quarter - (clock.now().getTime() % quarter) + 1000);
      return account.lambda.invoke('reconcile', {});
    },
    nodeClass,
    options: async () => classOptions(await nodeClass()),
    node: (name) => cluster.get('Node', name),
    writes,
    notices: () => account.notices.sent,
    events: async () =>
      (await cluster.list('Event')).filter(({ involvedObject }) => involvedObject.kind === 'EC2NodeClass'),
    executions: () => account.stepFunctions.executions.length,
    async [Symbol.asyncDispose]() {
      for (const { name } of account.stepFunctions.executions) account.stepFunctions.stop(name);
      await clean();
    },
  };
}

const condition = (type: string, now: Date, observedGeneration?: number) => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: now.toISOString().replace(/\.\d+Z$/, 'Z'),
  ...(observedGeneration !== undefined && { observedGeneration }),
});
