/** The simulator's account, in virtual time, for the suites of its ports. */
import type { Cluster, StoredParameter } from '../../rollout/ports.ts';
import { createAccount, type Account } from '../../simulator/account/account.ts';
import { createChance } from '../../simulator/account/chance.ts';
import { installClock, settle, type RunningClock } from '../../simulator/account/clock.ts';
import type { WrittenDefinition } from '../../simulator/account/definition.ts';
import { createGate } from '../../simulator/account/gate.ts';
import type { Chance, Gate } from '../../simulator/parts.ts';
import { proofOf } from '../../simulator/account/identities.ts';
import type { ApprovalsSubject } from './approvals.ts';
import type { IdentitiesSubject } from './identities.ts';
import type { InstancesSubject } from './instances.ts';
import type { NoticesSubject } from './notices.ts';
import type { ParametersSubject } from './parameters.ts';
import type { RecordsSubject } from './records.ts';
import type { ReportsSubject } from './reports.ts';
import type { WaitTokensSubject } from './wait-tokens.ts';
import type { AnsweredSubject, WorkflowSubject } from './workflow.ts';

const waits: WrittenDefinition = {
  StartAt: 'Wait',
  States: { Wait: { Type: 'Wait', Seconds: 36_000, End: true } },
};

interface Opened extends AsyncDisposable {
  account: Account;
  clock: RunningClock;
  chance: Chance;
  gate: Gate;
  /** Plays so many milliseconds. */
  pass(milliseconds: number): Promise<void>;
}

const waitsForToken: WrittenDefinition = {
  StartAt: 'Await',
  States: {
    Await: {
      Type: 'Task',
      Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
      Parameters: { FunctionName: '${ApproveFunctionArn}', Payload: { 'token.$': '$$.Task.Token' } },
      End: true,
    },
  },
};

interface Deployed {
  definition: WrittenDefinition;
  functions: Parameters<typeof createAccount>[0]['functions'];
}

export async function open(
  { definition, functions }: Deployed = { definition: waits, functions: {} },
): Promise<Opened> {
  const clock = installClock(new Date('2026-03-02T09:00:00Z'));
  const chance = createChance(1);
  const gate = createGate({ clock, chance, faults: [] });
  const account = createAccount({
    clock,
    chance,
    gate,
    ec2: {
      modifyBucket: { capacity: 100, refillPerSecond: 5, strangers: 0 },
      applyDelay: 2_000,
      readStaleness: 0,
      httpTokensEnforced: false,
    },
    clusters: { connect: () => Promise.reject<Cluster>(new Error('no cluster here')) },
    definition,
    functions,
    environment: {},
  });
  return {
    account,
    clock,
    chance,
    gate,
    async pass(milliseconds) {
      const moment = { reached: false };
      clock.after(milliseconds, () => {
        moment.reached = true;
      });
      while (!moment.reached) await clock.step();
    },
    async [Symbol.asyncDispose]() {
      for (const { name } of account.stepFunctions.executions) account.stepFunctions.stop(name);
      await settle();
      clock.uninstall();
    },
  };
}

export const closing = (opened: Opened) => ({ [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() });

export async function simulatedParameters(): Promise<ParametersSubject> {
  const opened = await open();
  const { parameterStore } = opened.account;
  return {
    port: parameterStore.port,
    rack: 'demo',
    set: async (rack: string, key: string, value: string, type?: StoredParameter['type']) => {
      parameterStore.set(rack, key, value, type === undefined ? {} : { type });
    },
    unset: async (rack, key) => {
      parameterStore.unset(rack, key);
    },
    ...closing(opened),
  };
}

export async function simulatedRecords(): Promise<RecordsSubject> {
  const opened = await open();
  const { records } = opened.account;
  return {
    port: records.port,
    rack: 'demo',
    register: async (registration) => {
      records.register(registration);
    },
    overwrite: async (rack, text) => {
      records.overwrite(rack, text);
    },
    ...closing(opened),
  };
}

export async function simulatedInstances(): Promise<InstancesSubject> {
  const opened = await open();
  const { ec2 } = opened.account;
  return {
    port: ec2.port,
    cluster: 'demo',
    launch: async (tags, metadataOptions) => {
      const { instanceId } = ec2.machines.launch({ zone: 'eu-west-1a', tags, metadataOptions });
      await opened.pass(60_000);
      return instanceId;
    },
    stop: async (instanceId) => {
      ec2.stop(instanceId);
    },
    terminate: async (instanceId) => {
      ec2.machines.terminate(instanceId, 'hand');
      await opened.pass(60_000);
    },
    settle: () => opened.pass(60_000),
    ...closing(opened),
  };
}

export async function simulatedWorkflow(): Promise<WorkflowSubject> {
  const opened = await open();
  const { stepFunctions } = opened.account;
  return {
    port: stepFunctions.port,
    stop: async (name) => {
      stepFunctions.stop(name);
      await settle();
    },
    ...closing(opened),
  };
}

export async function simulatedReports(): Promise<ReportsSubject> {
  const opened = await open();
  return { port: opened.account.reports.port, ...closing(opened) };
}

export async function simulatedNotices(): Promise<NoticesSubject> {
  const opened = await open();
  const { notices } = opened.account;
  return { port: notices.port, arrived: async () => notices.sent.length, ...closing(opened) };
}

export async function simulatedApprovals(): Promise<ApprovalsSubject> {
  const opened = await open();
  return { port: opened.account.ports.approvals, rack: 'demo', ...closing(opened) };
}

export async function simulatedWaitTokens(): Promise<WaitTokensSubject> {
  const opened = await open();
  return { port: opened.account.ports.waitTokens, rack: 'demo', ...closing(opened) };
}

export async function simulatedIdentities(): Promise<IdentitiesSubject> {
  const opened = await open();
  const arn = 'arn:aws:iam::123456789012:user/ada';
  return {
    port: opened.account.ports.identities,
    prove: async (claim) => proofOf(arn, claim, opened.clock.now()),
    arn,
    pass: (milliseconds) => opened.pass(milliseconds),
    ...closing(opened),
  };
}

export async function simulatedAnswers(): Promise<AnsweredSubject> {
  const tokens = new Map<string, string>();
  let starting = '';
  const opened = await open({
    definition: waitsForToken,
    functions: {
      approve: () => async (event) => {
        tokens.set(starting, (event as { token: string }).token);
      },
    },
  });
  const { stepFunctions } = opened.account;
  return {
    port: stepFunctions.port,
    wait: async (name) => {
      starting = name;
      await stepFunctions.port.start(name, 'demo');
      await opened.pass(10_000);
      return tokens.get(name) ?? '';
    },
    stop: async (name) => {
      stepFunctions.stop(name);
      await settle();
    },
    ...closing(opened),
  };
}
