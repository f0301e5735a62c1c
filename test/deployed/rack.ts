/** One rack of the deployed stack, in a person's hands: the AWS CLI and `imds-rollout`. */
import { DescribeExecutionCommand, ListExecutionsCommand, SFNClient } from '@aws-sdk/client-sfn';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { EC2NodeClass } from '../../rollout/kubernetes.ts';
import { recordSchema, type RolloutRecord } from '../../rollout/record.ts';
import { parameterStoreChange } from '../../simulator/account/events.ts';
import { stateMachineArn } from '../../simulator/account/names.ts';
import { buildsOf, type Builds } from '../karpenter/builds.ts';
import { watch } from '../karpenter/history.ts';
import { CLUSTER, PATIENCE_S } from '../karpenter/world.ts';
import { nodeClassOf, nodePoolOf } from '../karpenter/objects.ts';
import { verbsOf } from '../karpenter/verbs.ts';
import { writeClass } from '../karpenter/writers.ts';
import { waitsOf, type Waits } from '../karpenter/waits.ts';
import type { Ground } from './ground.ts';

interface Ended {
  status: string;
  /** What the last state put out, of one that succeeded. */
  output?: unknown;
}

export interface DeployedRack extends Builds, Waits {
  name: string;
  /** What changed at its machines, second by second, for the message of a test that fails. */
  history: readonly string[];
  /** `aws ssm put-parameter`, and Parameter Store's event of it to parameter-changed. */
  put(parameters: Record<string, string>): Promise<void>;
  /** The ARN of the rack's newest execution, once it has one. */
  execution(): Promise<string>;
  /** Waits for the end of an execution. */
  ended(arn: string): Promise<Ended>;
  record(): Promise<RolloutRecord>;
  stopWatching(): void;
}

/** Registered with `imds-rollout rack add`; its parameters are set before anybody listens. */
export async function createDeployedRack(
  world: Ground,
  name: string,
  parameters: Record<string, string>,
): Promise<DeployedRack> {
  const { ministack } = world;
  const sfn = new SFNClient(clientOf(ministack));
  const ssm = new SSMClient(clientOf(ministack));
  const before = { httpTokens: 'optional', httpPutResponseHopLimit: 2 } as const;
  await writeClass(
    world.api,
    { manager: 'owner', how: 'update' },
    nodeClassOf(name, world.account.imageId, before),
  );
  await verbsOf(world.api).create('/apis/karpenter.sh/v1/nodepools', nodePoolOf(name));
  const builds = buildsOf(world, name);
  await imdsRollout(world, 'rack', 'add', name, '--cluster', CLUSTER, '--pool', name);

  const store = async (key: string, value: string): Promise<string> => {
    const parameter = `/racks/${name}/${key}`;
    await ministack.aws(
      ...['ssm', 'put-parameter', '--name', parameter, '--value', value, '--type', 'String', '--overwrite'],
    );
    return parameter;
  };
  const isOn = { karpenter_enabled: 'true', build_node_enabled: 'true' };
  for (const [key, value] of Object.entries({ ...isOn, ...parameters })) await store(key, value);

  const changes = watch({
    machines: async () => (await world.machines()).get(name) ?? [],
    executions: () => [],
    fates: () => [...world.kubelet.fates].filter(([pod]) => pod.startsWith(`${name}-`)),
  });
  const nodeClass = async (): Promise<EC2NodeClass> => {
    const found = await world.cluster.get('EC2NodeClass', name);
    if (found === undefined) throw new Error(`there is no EC2NodeClass ${name}`);
    return found;
  };
  const newest = async (): Promise<string | undefined> => {
    const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn }));
    return executions
      .filter((one) => one.name?.startsWith(`${name}-`) === true)
      .sort((a, b) => Number(b.startDate) - Number(a.startDate))[0]?.executionArn;
  };

  return {
    name,
    ...builds,
    ...waitsOf(world, { ...builds, name, nodeClass }),
    history: changes.lines,
    stopWatching() {
      changes.stop();
    },
    async put(asked) {
      for (const [key, value] of Object.entries(asked)) {
        await tellParameterChanged(world, await store(key, value));
      }
    },
    async execution() {
      await world.until(
        `rack ${name} has an execution`,
        async () => (await newest()) !== undefined,
        PATIENCE_S,
      );
      return (await newest()) ?? '';
    },
    async ended(executionArn) {
      const describe = () => sfn.send(new DescribeExecutionCommand({ executionArn }));
      await world.until(
        `${executionArn} has ended`,
        async () => (await describe()).status !== 'RUNNING',
        PATIENCE_S,
      );
      const { status = '', output } = await describe();
      return { status, ...(output !== undefined && { output: JSON.parse(output) as unknown }) };
    },
    async record() {
      const Name = `/imds-rollout/racks/${name}/record`;
      const { Parameter } = await ssm.send(new GetParameterCommand({ Name }));
      return recordSchema.parse(JSON.parse(Parameter?.Value ?? ''));
    },
  };
}

/** As EventBridge hands it over: an asynchronous invocation with the event. ministack has no events of parameters. */
async function tellParameterChanged({ ministack }: Ground, parameter: string): Promise<void> {
  const event = parameterStoreChange(
    { id: randomUUID(), at: new Date() },
    { name: parameter, operation: 'Update', type: 'String' },
  );
  await ministack.aws(
    ...[
      'lambda',
      'invoke',
      '--function-name',
      'imds-rollout-parameter-changed',
      '--invocation-type',
      'Event',
    ],
    ...['--payload', JSON.stringify(event), '/dev/null'],
  );
}

/** The command, as its person would run it; what it printed. */
export async function imdsRollout({ ministack }: Ground, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['cli/main.ts', ...args], {
    env: { ...process.env, ...ministack.environment },
  });
  return stdout;
}

const clientOf = ({ endpoint }: Ground['ministack']) => ({ endpoint });
