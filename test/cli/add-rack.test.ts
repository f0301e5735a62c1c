/** What `rack add` refuses, by name and before it writes anything, and what it makes of access entries. */
import {
  CreateAccessEntryCommand,
  DeleteAccessEntryCommand,
  DescribeAccessEntryCommand,
  EKSClient,
  UpdateAccessEntryCommand,
  type AccessEntry,
} from '@aws-sdk/client-eks';
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createAccess } from '../../cli/account/access.ts';
import { addRack, mayModify } from '../../cli/rack/add.ts';
import { ensureEntries, READ_GROUP } from '../../cli/rack/entries.ts';
import { removeRack } from '../../cli/rack/remove.ts';
import { startKubeServer } from './kube-server.ts';
import { deploymentOf, handsOn, listener, newAccount, NOW, reader, type Account } from './registered.ts';

const options = { httpTokens: 'optional', httpPutResponseHopLimit: 3 };

async function world(change: (account: Account) => void = () => undefined) {
  const kube = await startKubeServer();
  const hands = handsOn(kube.api);
  await hands.addClass('build', options);
  await hands.addPool('build', 'build');
  const account = newAccount();
  change(account);
  const before = kube.objects.size;
  const add = (more: { rack?: string; cluster?: string; nodePool?: string } = {}): Promise<void> =>
    addRack(
      deploymentOf(account, kube.api),
      { rack: 'demo', cluster: 'demo', nodePool: 'build', dryRun: false, ...more },
      listener().say,
    );
  return {
    account,
    hands,
    add,
    deployment: deploymentOf(account, kube.api),
    /** Neither cluster nor account was written to. */
    untouched: (objects = before) => {
      expect([kube.objects.size, account.entries.size]).toEqual([objects, 0]);
    },
    [Symbol.asyncDispose]: () => kube[Symbol.asyncDispose](),
  };
}

const facts = (more: Partial<NonNullable<Account['facts']>>) => (account: Account) => {
  if (account.facts !== undefined) account.facts = { ...account.facts, ...more };
};

describe('rack add refuses', () => {
  it.each([
    ['a name that is no level of a path', { rack: 'a/b' }, () => undefined, /^"a\/b" is no name of a rack\n/],
    [
      'a cluster that is not there',
      { cluster: 'none' },
      () => undefined,
      /^there is no cluster none in eu-west-1\n/,
    ],
    [
      'a pool that is not there',
      { nodePool: 'none' },
      () => undefined,
      /^there is no NodePool none in cluster demo\n/,
    ],
    [
      'a cluster without access entries',
      {},
      facts({ authenticationMode: 'CONFIG_MAP' }),
      /authentication mode CONFIG_MAP.*\n.*authenticationMode=API_AND_CONFIG_MAP$/,
    ],
    ['a Kubernetes without the policy', {}, facts({ version: '1.29' }), /Kubernetes 1\.29, .*\nUpgrade it/],
    [
      'a rack of another cluster',
      {},
      (account: Account) => account.registrations.push({ rack: 'demo', cluster: 'else', nodePool: 'build' }),
      /^rack demo is registered already, for cluster else and NodePool build\n/,
    ],
    [
      'the class of another rack',
      {},
      (account: Account) => account.registrations.push({ rack: 'first', cluster: 'demo', nodePool: 'build' }),
      /^EC2NodeClass build belongs to rack first: one class belongs to one rack\n/,
    ],
  ])('%s', async (_what, more, change, message) => {
    await using of = await world(change);
    await expect(of.add(more)).rejects.toThrow(message);
    of.untouched();
  });

  it('a cluster whose instances the deployment may not modify', async () => {
    await using of = await world(facts({ name: 'other' }));
    await expect(of.add({ cluster: 'other' })).rejects.toThrow(
      /may not modify instances of cluster other: its clusters are demo\n/,
    );
    expect(mayModify(['*'], 'any')).toBe(true);
    expect(mayModify(['build-?', 'x.y'], 'build-a')).toBe(true);
    expect(mayModify(['build-?', 'x.y'], 'xzy')).toBe(false);
  });

  it('a pool of another kind, and one whose class is missing', async () => {
    await using of = await world();
    await of.hands.addPool('odd', 'odd', { kind: 'AzureNodeClass' });
    await of.hands.addPool('bare', 'gone');
    await expect(of.add({ nodePool: 'odd' })).rejects.toThrow(/refers to a AzureNodeClass \(odd\)/);
    await expect(of.add({ nodePool: 'bare' })).rejects.toThrow(/^there is no EC2NodeClass gone/);
  });

  it('nothing for what a rollout would refuse only now, and says so', async () => {
    await using of = await world();
    await of.hands.addPool('second', 'build');
    const { say, said } = listener();
    await addRack(of.deployment, { rack: 'demo', cluster: 'demo', nodePool: 'build', dryRun: false }, say);
    expect(said).toContainEqual([
      '!',
      expect.stringMatching(/^a rollout will be refused: .* NodePool second/),
    ]);
  });
});

describe('rack remove refuses', () => {
  const registered = (account: Account): void => {
    account.registrations.push({ rack: 'demo', cluster: 'demo', nodePool: 'build' });
  };
  const remove = (of: Awaited<ReturnType<typeof world>>, rack = 'demo'): Promise<void> =>
    removeRack(of.deployment, { rack, choice: undefined, dryRun: false }, listener().say);

  it('a rack that is none, and names those that are', async () => {
    await using of = await world(registered);
    await expect(remove(of, 'dmeo')).rejects.toThrow(/^rack dmeo is not registered .*; registered: demo\n/);
  });

  it('while a rollout of the rack runs', async () => {
    await using of = await world(registered);
    of.account.executions.push({ name: 'demo-1', startedAt: NOW.toISOString(), status: 'RUNNING' });
    await expect(remove(of)).rejects.toThrow(/^rollout demo-1 of rack demo is running\nWait for its end/);
    expect(of.account.registrations).toHaveLength(1);
  });

  it('nothing where the cluster is gone: the rack is forgotten', async () => {
    await using of = await world((account) => {
      registered(account);
      account.facts = undefined;
    });
    await remove(of);
    expect(of.account.registrations).toEqual([]);
  });
});

describe('access entries', () => {
  const eks = new EKSClient({ region: 'eu-west-1' });
  const iam = new IAMClient({ region: 'eu-west-1' });
  const [onEks, onIam] = [mockClient(eks), mockClient(iam)];
  afterEach(() => {
    onEks.reset();
    onIam.reset();
  });
  const named = (name: string): Error => Object.assign(new Error(name), { name, $metadata: {} });
  const absent = named('ResourceNotFoundException');

  async function ensured(entry: AccessEntry | undefined, madeAt = '2026-01-01T00:00:00Z') {
    if (entry === undefined) onEks.on(DescribeAccessEntryCommand).rejects(absent);
    else onEks.on(DescribeAccessEntryCommand).resolves({ accessEntry: entry });
    onIam.on(GetRoleCommand).resolves({
      Role: { CreateDate: new Date(madeAt), Path: '/', RoleName: 'r', RoleId: 'r', Arn: reader },
    });
    const { say, said } = listener();
    const role = { role: reader, group: READ_GROUP };
    await ensureEntries(createAccess(eks, iam), [role], { cluster: 'demo', dryRun: false }, say);
    return said[0]?.[0];
  }
  const entry = (more: AccessEntry = {}): AccessEntry => ({
    kubernetesGroups: [READ_GROUP],
    type: 'STANDARD',
    createdAt: new Date('2026-02-01T00:00:00Z'),
    ...more,
  });

  it('are made where there are none', async () => {
    expect(await ensured(undefined)).toBe('+');
    expect(onEks).toHaveReceivedCommandWith(CreateAccessEntryCommand, {
      clusterName: 'demo',
      principalArn: reader,
      kubernetesGroups: [READ_GROUP],
      type: 'STANDARD',
    });
  });

  it('are left where they are right', async () => {
    expect(await ensured(entry())).toBe('=');
    expect(onEks).not.toHaveReceivedCommand(CreateAccessEntryCommand);
  });

  it('get the group besides those that somebody else gave', async () => {
    expect(await ensured(entry({ kubernetesGroups: ['theirs'] }))).toBe('~');
    expect(onEks).toHaveReceivedCommandWith(UpdateAccessEntryCommand, {
      clusterName: 'demo',
      principalArn: reader,
      kubernetesGroups: ['theirs', READ_GROUP],
    });
  });

  it('are made anew for a role that was made anew', async () => {
    expect(await ensured(entry(), '2026-02-02T00:00:00Z')).toBe('~');
    expect(onEks).toHaveReceivedCommandTimes(DeleteAccessEntryCommand, 1);
    expect(onEks).toHaveReceivedCommandTimes(CreateAccessEntryCommand, 1);
  });

  it('are judged without IAM where that may not be read', async () => {
    onIam.on(GetRoleCommand).rejects(named('AccessDenied'));
    onEks.on(DescribeAccessEntryCommand).resolves({ accessEntry: entry() });
    const { say, said } = listener();
    await ensureEntries(
      createAccess(eks, iam),
      [{ role: reader, group: READ_GROUP }],
      { cluster: 'demo', dryRun: false },
      say,
    );
    expect(said[0]?.[0]).toBe('=');
  });

  it('of another type are refused, with what to do', async () => {
    await expect(ensured(entry({ type: 'EC2_LINUX' }))).rejects.toThrow(/of type EC2_LINUX.*\nDelete it \(/);
  });
});
