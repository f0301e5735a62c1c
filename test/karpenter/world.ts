/** A cluster with the real Karpenter in it, an account around it, and the product on both, for the length of a run. */
import { systemClock } from '../../adapters/clock.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { leaseManifests, policyManifests, rbacManifests } from '../../cli/account/manifests.ts';
import { createObjects } from '../../cli/account/objects.ts';
import type { Cluster } from '../../rollout/ports.ts';
import { createAuthority } from '../adapters/authority.ts';
import { startAccount, type Account } from './account.ts';
import { clientOf, startControlPlane, type ControlPlane } from './control-plane.ts';
import { define } from './definitions.ts';
import { createEc2, type Ec2 } from './ec2.ts';
import { startFewTypes } from './few-types.ts';
import { startKubelet, type Kubelet } from './kubelet.ts';
import { readMachines, shared, type Machines } from './machines.ts';
import { PRICED, startNeighbours, type Identify, type Neighbours } from './neighbours.ts';
import { freePort, start, until, type Part } from './processes.ts';
import { startProduct, type RunningProduct } from './product.ts';

export const CLUSTER = 'it';
export const REGION = 'eu-west-1';

/** Waits for it, for so many seconds, looking every so many, and says what it waited for where it does not come. */
type Until = (
  what: string,
  isSo: () => boolean | Promise<boolean>,
  patience?: number,
  every?: number,
) => Promise<void>;

/**
 * Of whoever waits for Karpenter, which takes one node of all racks at a time, or for a computer that does a dozen other
 * things meanwhile. What comes is not waited for a moment longer.
 */
export const PATIENCE_S = 15 * 60;

export interface Parts extends AsyncDisposable {
  account: Account;
  /** As the administrator. */
  api: ApiClient;
  cluster: Cluster;
  ec2: Ec2;
  plane: ControlPlane;
  neighbours: Neighbours;
  /** As they were a moment ago, but not before `since`, milliseconds since 1970. */
  machines(since?: number): Promise<Machines>;
  kubelet: Kubelet;
  until: Until;
  /** kube-apiserver is ended; it comes back, with all that it stored, with `startApiServer`. */
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
  /** Karpenter is killed; it comes back with `startKarpenter`. */
  killKarpenter(): Promise<void>;
  startKarpenter(): Promise<void>;
  /** What Karpenter has logged lately. */
  karpenterSaid(): string;
  /** The programs that are to run now. */
  running(): readonly Part[];
}

export interface World extends Parts {
  product: RunningProduct;
}

/** `racks` are those that will be registered: each has a pool and a class of its own name. */
export async function startWorld(racks: readonly string[]): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const parts = stack.use(await startParts());
  await registerIn(parts.api, racks);
  // The product's clients are built from it, as in a Lambda.
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: parts.account.endpoint,
    AWS_ENDPOINT_URL_EC2: parts.neighbours.endpoint,
    AWS_ENDPOINT_URL_EKS: parts.neighbours.endpoint,
  });
  const product = await startProduct();
  const kept = stack.move();
  return { ...parts, product, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** All but the product. */
export async function startParts(identify?: Identify): Promise<Parts> {
  const { CONTROL_PLANE: binary, KARPENTER: program, KARPENTER_CRDS: crds, MOTO: moto } = process.env;
  if (binary === undefined || program === undefined || crds === undefined || moto === undefined) {
    throw new Error('start this with `npm run test:karpenter` or `npm run test:aws`');
  }
  await using stack = new AsyncDisposableStack();
  const authority = await createAuthority('kubernetes');
  const neighbours = stack.use(await startNeighbours(authority, CLUSTER, identify));
  const [account, plane] = await Promise.all([
    startAccount(moto, REGION),
    startControlPlane({ binary, authority, tokenReviews: neighbours.tokenReviews, controllers: true }),
  ]);
  stack.use(plane);
  stack.defer(() => account.part.end());
  await define(plane, crds);
  const api = clientOf(plane, 'admin');
  const ec2 = createEc2(api);
  neighbours.introduce({ ...plane, ec2 });

  const fewTypes = stack.use(await startFewTypes(account.endpoint, PRICED));
  const endpoints = {
    AWS_ENDPOINT_URL: account.endpoint,
    AWS_ENDPOINT_URL_EC2: fewTypes.endpoint,
    AWS_ENDPOINT_URL_PRICING: neighbours.endpoint,
  };
  const begin = async (): Promise<Part> => startKarpenter(program, plane, endpoints);
  let karpenter = await begin();
  let saidBefore = '';
  let away = false;
  stack.defer(() => karpenter.end());
  const kubelet = stack.use(startKubelet(api));
  const cluster = createCluster(api, systemClock);
  const running = (): Part[] => [...(away ? [] : [karpenter]), account.part, ...plane.parts()];
  const kept = stack.move();
  return {
    account,
    api,
    cluster,
    ec2,
    plane,
    neighbours,
    machines: shared(() => readMachines({ cluster, ec2 })),
    kubelet,
    running,
    until: untilSo(running),
    stopApiServer: () => plane.stopApiServer(),
    startApiServer: () => plane.startApiServer(),
    async killKarpenter() {
      away = true;
      await karpenter.end();
      saidBefore += karpenter.said();
    },
    async startKarpenter() {
      karpenter = await begin();
      away = false;
    },
    karpenterSaid: () => saidBefore + karpenter.said(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Waits in vain no longer than it takes one of the programs to end. */
export const untilSo =
  (running: () => readonly Part[]): Until =>
  (what, isSo, patience = PATIENCE_S, every = 0.2) =>
    until(
      what,
      running(),
      async () => {
        if (!(await isSo())) throw new Error('not yet');
      },
      patience * 1000,
      every * 1000,
    );

/** What registering racks puts into their cluster. */
async function registerIn(api: ApiClient, racks: readonly string[]): Promise<void> {
  const objects = createObjects(api);
  const names = racks.map((rack) => ({ nodePool: rack, nodeClass: rack }));
  for (const manifest of [...rbacManifests(), ...policyManifests(names), ...racks.flatMap(leaseManifests)]) {
    await objects.create(manifest);
  }
}

async function startKarpenter(
  command: string,
  plane: ControlPlane,
  endpoints: Record<string, string>,
): Promise<Part> {
  const [metrics, health] = await Promise.all([freePort(), freePort()]);
  return start({
    name: 'Karpenter',
    command,
    args: [],
    env: {
      KUBECONFIG: plane.kubeconfig,
      SYSTEM_NAMESPACE: 'kube-system',
      CLUSTER_NAME: CLUSTER,
      CLUSTER_ENDPOINT: plane.endpoint,
      ISOLATED_VPC: 'true',
      DISABLE_LEADER_ELECTION: 'true',
      DISABLE_DRY_RUN: 'true',
      METRICS_PORT: String(metrics),
      HEALTH_PROBE_PORT: String(health),
      BATCH_IDLE_DURATION: '100ms',
      BATCH_MAX_DURATION: '1s',
      AWS_REGION: REGION,
      ...endpoints,
    },
  });
}
