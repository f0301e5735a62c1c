/** Starts the cluster, sets a rack up, says how to reach it, and tells what happens until somebody ends it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { collectRollouts } from '../../../simulator/run/rollouts.ts';
import { createRack, type Rack } from '../rack.ts';
import { serveStepFunctions } from '../step-functions.ts';
import { PARAMETER_PREFIX, startProduct, type SteeredProduct } from '../product.ts';
import { startWorld, type World } from '../world.ts';
import { watchParameters } from './parameter-events.ts';
import { createStack } from './stack.ts';

const RACK = 'demo';
/** How long its Builds run, in seconds. */
const BUILDS = { web: 10 * 60, api: 3 * 3600 };
const FOREVER_SECONDS = Number.POSITIVE_INFINITY;
const environmentFile = new URL('../../../out/cluster.env', import.meta.url);

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const now = (): string => new Date().toTimeString().slice(0, 8);

export async function stayUp(): Promise<void> {
  const signal = firstSignal();
  say('Starting etcd, kube-apiserver, kube-scheduler, kube-controller-manager, Karpenter and moto.');
  await using stack = new AsyncDisposableStack();
  try {
    const world = stack.use(await startWorld([RACK]));
    const product = await startProduct('imds-rollout', { asDeployed: true });
    const stepFunctions = stack.use(
      await serveStepFunctions({
        stateMachineArn: product.settings.STATE_MACHINE_ARN,
        executions: product.executions,
        workflow: product.ports.workflow,
      }),
    );
    await createStack(product.settings);
    say(`Launching nodes for rack ${RACK}: a minute or so.`);
    const rack = await furnished(world, product);
    stack.defer(() => {
      rack.stopWatching();
    });
    tellExecutions(product);
    stack.defer(product.events.startSchedule());
    stack.use(
      await watchParameters(`${PARAMETER_PREFIX}${RACK}`, (change) => {
        say(`${now()} ${change.operation} of ${change.name}: told to parameter-changed`);
        product.events.parameterChanged(change);
      }),
    );
    writeEnvironment(world, stepFunctions.endpoint);
    stack.defer(() => {
      rmSync(environmentFile, { force: true });
    });
    say(greeting());
    await world.until('somebody ends it', () => signal.came(), FOREVER_SECONDS);
  } catch (error) {
    // Ctrl-C reaches every program of the terminal: that they end is no trouble then.
    if (!signal.came()) throw error;
  }
  say('Ending.');
}

/** One node without a Build, and one for each of the others. */
async function furnished(world: World, product: SteeredProduct): Promise<Rack> {
  const rack = await createRack(world, RACK, { product });
  const names = ['done', ...Object.keys(BUILDS)];
  for (const name of names) await rack.startBuild(name);
  for (const name of names) await rack.running(name);
  await rack.endBuild('done', 0);
  for (const [name, seconds] of Object.entries(BUILDS)) await rack.endBuild(name, seconds);
  await world.until('all nodes are initialised', async () =>
    (await world.cluster.list('NodeClaim')).every(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === 'Initialized' && is === 'True'),
    ),
  );
  return rack;
}

function tellExecutions(product: SteeredProduct): void {
  product.onStatus((execution) => {
    const [rollout] = collectRollouts([execution]);
    const ending = rollout?.outcome ? `${rollout.outcome}: ${String(rollout.reason)}` : 'runs';
    say(`${now()} rollout ${execution.name}: ${ending}`);
  });
}

/** For a shell that sources it. What would lead to another account is taken away. */
function writeEnvironment({ account, plane, neighbours }: World, stepFunctions: string): void {
  const variables = {
    KUBECONFIG: plane.kubeconfig,
    AWS_ENDPOINT_URL: account.endpoint,
    AWS_ENDPOINT_URL_EC2: neighbours.endpoint,
    AWS_ENDPOINT_URL_EKS: neighbours.endpoint,
    AWS_ENDPOINT_URL_SFN: stepFunctions,
    AWS_REGION: 'eu-west-1',
    AWS_DEFAULT_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${value}`);
  const text = ['unset AWS_PROFILE AWS_SESSION_TOKEN', ...lines].join('\n');
  mkdirSync(new URL('.', environmentFile), { recursive: true });
  writeFileSync(environmentFile, `${text}\n`);
  say(`\n${text}`);
}

const greeting = (): string => `
The same lines are in ${fileURLToPath(environmentFile)}: source them in another shell. Then, for instance:

  kubectl get nodes
  aws ssm put-parameter --name ${PARAMETER_PREFIX}${RACK}/karpenter_build_imds_tokens --value required --type String
  npm run -s imds-rollout -- watch -r ${RACK}

What is real: the control plane, Karpenter and its decisions, the functions' code and the workflow definition. What
stands in: moto for Parameter Store, S3 and IAM; Karpenter's own EC2 (KWOK), which launches no machine; a kubelet of a
few lines; Step Functions and Lambda run in this process. moto sends no events: parameters are read here every second,
and what changed is handed to parameter-changed as EventBridge would. reconcile runs every 2 minutes.

Ready. Ctrl-C ends all of it.`;

/** The first is for a tidy end; the second ends this process at once, and every program with it. */
function firstSignal(): { came(): boolean } {
  let came = false;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (came) process.exit(1);
      came = true;
    });
  }
  return { came: () => came };
}
