/** The product as it is packaged: each function's bundle in a process of its own, with the adapters that are in it. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { rolloutPorts } from '../../../adapters/rollout-ports.ts';
import { parseEnvironment, rolloutEnvironment } from '../../../functions/shared/environment.ts';
import type { Handler } from '../../../simulator/account/lambda.ts';
import { KNOWN_KEY } from '../neighbours.ts';
import { announcer, type RunningProduct, type SteeredProduct } from '../product.ts';
import { createRuntime } from '../runtime.ts';
import { serveStepFunctions } from '../step-functions.ts';
import type { Package } from './package.ts';
import { startSandbox } from './sandbox.ts';

export interface PackagedProduct
  extends RunningProduct, Pick<SteeredProduct, 'stop' | 'putForward'>, AsyncDisposable {
  /** A function, by the name of its folder in functions/, as Lambda invokes it. */
  invoke(name: string, event: unknown): Promise<unknown>;
}

/** Of the deployment and of whoever runs it; the rest of the environment is the package's. */
export interface Installation {
  /** Keeps its racks to itself. */
  name: string;
  accessKeyId?: string;
}

const MADE_ALREADY = 'BucketAlreadyOwnedByYou';

export async function startPackaged(
  { functions, definition }: Package,
  { name: installation, accessKeyId = KNOWN_KEY }: Installation,
): Promise<PackagedProduct> {
  await using stack = new AsyncDisposableStack();
  const [any] = functions.values();
  const settings = {
    ...parseEnvironment(rolloutEnvironment, any?.environment ?? {}),
    RECORD_PREFIX: `/${installation}/racks/`,
  };
  await makeBucket(settings.REPORT_BUCKET);

  const byArn = new Map([...functions.values()].map((each) => [each.arn, each] as const));
  const sandboxes = stack.use(new AsyncDisposableStack());
  let ahead = 0;
  // The workflow names functions by ARN, and EventBridge's rule by their folder.
  const handlerOf = (name: string): Handler => {
    const found = byArn.get(name) ?? functions.get(name);
    if (found === undefined) throw new Error(`the package has no function ${name}`);
    const { bundle, environment } = found;
    const variables = {
      ...environment,
      ...ofLambda(accessKeyId),
      RECORD_PREFIX: settings.RECORD_PREFIX,
      AWS_ENDPOINT_URL_SFN: states.endpoint,
    };
    return sandboxes.use(startSandbox(bundle, variables, () => ahead)).handler;
  };
  const { lambda, stepFunctions } = createRuntime(definition, handlerOf, { tellsEnds: true });
  const states = stack.use(
    await serveStepFunctions({
      stateMachineArn: settings.STATE_MACHINE_ARN,
      executions: stepFunctions.executions,
      workflow: stepFunctions.port,
    }),
  );
  const invoke = (name: string, event: unknown): Promise<unknown> =>
    lambda.invoke(functions.get(name)?.arn ?? name, event);
  const kept = stack.move();
  return {
    settings,
    ports: rolloutPorts(settings),
    executions: stepFunctions.executions,
    changed: announcer((event) => invoke('parameter-changed', event)),
    reconcile: () => invoke('reconcile', {}),
    invoke,
    stop: (execution) => void stepFunctions.stop(execution),
    putForward(milliseconds) {
      ahead += milliseconds;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What Lambda adds to a function's environment, and where its clients find this account. */
function ofLambda(accessKeyId: string): Record<string, string> {
  const endpoints = Object.entries(process.env).flatMap(([key, value]) =>
    key.startsWith('AWS_ENDPOINT_URL') && value !== undefined ? [[key, value] as const] : [],
  );
  return {
    ...Object.fromEntries(endpoints),
    AWS_REGION: process.env['AWS_REGION'] ?? '',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

async function makeBucket(Bucket: string): Promise<void> {
  try {
    await new S3Client({}).send(
      new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' } }),
    );
  } catch (error) {
    if (!(error instanceof Error && error.name === MADE_ALREADY)) throw error;
  }
}
