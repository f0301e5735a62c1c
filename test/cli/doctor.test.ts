import { describe, expect, it } from 'vitest';
import { diagnose } from '../../cli/doctor/diagnose.ts';
import { diagnosesText } from '../../cli/view/doctor.ts';
import { addRack } from '../../cli/rack/add.ts';
import type { Deployment } from '../../cli/deployment.ts';
import { ForbiddenError, NotFoundError, TransientError } from '../../rollout/errors.ts';
import { parameter } from '../rollout/given.ts';
import { startKubeServer, type KubeServer } from './kube-server.ts';
import { deploymentOf, handsOn, listener, newAccount, reader, type Account } from './registered.ts';

const registration = { rack: 'demo', cluster: 'demo', nodePool: 'build' };

/** A rack as `rack add` leaves it, on a Karpenter that was tested. */
async function world() {
  const kube = await startKubeServer();
  const hands = handsOn(kube.api);
  await hands.addClass('build', { httpTokens: 'optional', httpPutResponseHopLimit: 3 });
  await hands.addPool('build', 'build', { labels: { 'convox-build': 'true' } });
  await kube.api({
    verb: 'patch',
    resource: 'ec2nodeclasses',
    method: 'PATCH',
    path: '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/build',
    body: {
      metadata: { annotations: { 'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v5' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
  });
  karpenter(kube, '1.14.0');
  const account = newAccount();
  const deployment = deploymentOf(account, kube.api);
  await addRack(deployment, { ...registration, dryRun: false }, listener().say);
  return {
    kube,
    hands,
    account,
    deployment,
    find: async (change: Partial<Deployment> = {}) => {
      const diagnoses = await diagnose({ ...deployment, ...change }, 'demo');
      const checks = diagnoses.flatMap(({ checks }) => checks);
      return {
        text: diagnosesText(diagnoses),
        bad: checks.filter(({ state }) => state === 'problem').map(({ name }) => name),
        unknown: checks.filter(({ state }) => state === 'unknown').map(({ name }) => name),
        of: (name: string) => checks.find((each) => each.name === name),
      };
    },
    [Symbol.asyncDispose]: () => kube[Symbol.asyncDispose](),
  };
}

function karpenter(kube: KubeServer, version: string): void {
  const containers = [{ image: `public.ecr.aws/karpenter/controller:${version}@sha256:0` }];
  kube.instead.answer = ({ path }) =>
    path === '/apis/apps/v1/deployments'
      ? { body: { items: [{ spec: { template: { spec: { containers } } } }] } }
      : undefined;
}

describe('doctor', () => {
  it('finds no problem where rack add has been, and says what cannot be told', async () => {
    await using of = await world();
    const found = await of.find();
    expect(found.bad).toEqual([]);
    expect(found.unknown).toEqual(['way of the functions']);
    expect(found.text).toContain('ok      credentials: arn:aws:iam::123456789012:user/somebody');
    expect(found.text).toContain('ok      Karpenter: 1.14, hash version v5');
    expect(found.text).toMatch(/ok {6}rights of the groups: RBAC allows all \d+ things/);
  });

  it.each<[string, string[], (of: Awaited<ReturnType<typeof world>>) => unknown]>([
    ['a role without its entry', ['access entries'], ({ account }) => account.entries.delete(reader)],
    [
      'a Lease that is gone',
      ['Lease'],
      ({ kube }) =>
        kube.objects.delete('/apis/coordination.k8s.io/v1/namespaces/default/leases/imds-rollout-build'),
    ],
    [
      'bindings that are gone',
      ['rights of the groups', 'RBAC'],
      ({ kube }) => {
        for (const path of kube.objects.keys()) if (path.includes('bindings/')) kube.objects.delete(path);
      },
    ],
    [
      'a class that another pool came to use',
      ['class of this rack alone'],
      ({ hands }) => hands.addPool('second', 'build'),
    ],
    [
      'another pool that takes Builds',
      ['Builds elsewhere'],
      async ({ hands }) => {
        await hands.addClass('extra', {});
        await hands.addPool('extra', 'extra', { labels: { 'convox-build': 'true' } });
      },
    ],
    [
      'parameters that are refused',
      ['parameters'],
      ({ account }) => {
        setAll(account, { imds_http_tokens: 'Required' });
      },
    ],
    [
      'an account that forbids what is asked',
      ['account defaults'],
      ({ account }) => {
        setAll(account, { imds_http_tokens: 'optional' });
        account.tokensEnforced = true;
      },
    ],
    [
      'a Karpenter before 1.0',
      ['Karpenter'],
      ({ kube }) => {
        karpenter(kube, '0.37.0');
      },
    ],
    [
      'a cluster without access entries',
      ['cluster'],
      ({ account }) => {
        if (account.facts) account.facts = { ...account.facts, authenticationMode: 'CONFIG_MAP' };
      },
    ],
    [
      'a private endpoint that functions outside of any VPC do not reach',
      ['way of the functions'],
      ({ account }) => {
        if (account.facts) account.facts = { ...account.facts, isPublic: false, isPrivate: true };
      },
    ],
    [
      'an endpoint that lets only some addresses in',
      ['way of the functions'],
      ({ account }) => {
        if (account.facts) account.facts = { ...account.facts, publicAccessCidrs: ['192.0.2.0/24'] };
      },
    ],
    [
      'functions that IAM does not let do their work',
      [
        'permissions of approve',
        'permissions of conclude',
        'permissions of reconcile',
        'permissions of rollout-ended',
      ],
      ({ account }) => account.refused.add('events:PutEvents'),
    ],
    [
      'a cluster that is gone',
      ['cluster'],
      ({ account }) => {
        account.facts = undefined;
      },
    ],
    [
      'a static pool without headroom',
      ['headroom'],
      ({ kube }) =>
        kube.api({
          verb: 'patch',
          resource: 'nodepools',
          method: 'PATCH',
          path: '/apis/karpenter.sh/v1/nodepools/build',
          body: { spec: { replicas: 2, limits: { nodes: '2' } } },
        }),
    ],
    [
      'a class that is not Ready',
      ['class is Ready'],
      ({ kube }) =>
        kube.api({
          verb: 'patch',
          resource: 'ec2nodeclasses',
          method: 'PATCH',
          path: '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/build',
          body: { status: { conditions: [{ type: 'Ready', status: 'False', message: 'no subnets' }] } },
        }),
    ],
  ])('names %s', async (_what, names, change) => {
    await using of = await world();
    await change(of);
    const found = await of.find();
    expect(found.bad.filter((name) => !(name === 'admission policy' && names.includes('RBAC')))).toEqual(
      names,
    );
    for (const name of names) expect(found.of(name)?.todo).toBeTruthy();
  });

  it('finds an admission policy that does not know the annotation of a canary yet, and says what renews it', async () => {
    await using of = await world();
    const mark = "'imds-rollout/canary', ";
    for (const [path, stored] of of.kube.objects) {
      if (!path.includes('/validatingadmissionpolicies/')) continue;
      const text = JSON.stringify(stored);
      if (text.includes(mark)) of.kube.objects.set(path, JSON.parse(text.replace(mark, '')) as typeof stored);
    }
    const found = await of.find();
    expect(found.bad).toEqual(['admission policy']);
    expect(found.of('admission policy')).toMatchObject({
      what: expect.stringMatching(/ is not as this version has it$/) as string,
      todo: 'Run it again: imds-rollout rack add demo --cluster demo --pool build',
    });
    await addRack(of.deployment, { ...registration, dryRun: false }, listener().say);
    expect((await of.find()).bad).toEqual([]);
  });

  it('cannot vouch for another Karpenter, nor for what somebody else writes', async () => {
    await using of = await world();
    karpenter(of.kube, 'v1.9.2');
    const fieldsV1 = { 'f:spec': { 'f:metadataOptions': { 'f:httpTokens': {} } } };
    await of.kube.api({
      verb: 'patch',
      resource: 'ec2nodeclasses',
      method: 'PATCH',
      path: '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/build',
      body: { metadata: { managedFields: [{ manager: 'terraform', operation: 'Update', fieldsV1 }] } },
    });
    const found = await of.find();
    expect([found.bad, found.unknown]).toEqual([
      [],
      ['way of the functions', 'Karpenter', 'owners of the options'],
    ]);
    expect(found.of('owners of the options')?.what).toBe('also written by terraform (httpTokens)');
  });

  it('takes what this person may not see for unknown, and what is gone for a problem', async () => {
    await using of = await world();
    const { ports } = of.deployment;
    const found = await of.find({
      ports: {
        ...ports,
        workflow: { ...ports.workflow, running: () => Promise.reject(new ForbiddenError('may not list')) },
        reports: { ...ports.reports, list: () => Promise.reject(new NotFoundError('NoSuchBucket: reports')) },
      },
      objects: () => Promise.reject(new TransientError('get nodes in cluster demo: ECONNREFUSED')),
    });
    expect(found.of('workflow')).toMatchObject({ state: 'unknown', what: 'may not list' });
    expect(found.of('reports')).toMatchObject({ state: 'problem' });
    expect(found.of('API server')).toMatchObject({
      state: 'unknown',
      what: expect.stringMatching(/^cluster demo cannot be reached/) as string,
    });
  });

  it('says which role may not do what, and on what', async () => {
    await using of = await world();
    of.account.refused.add('ec2:ModifyInstanceMetadataOptions');
    expect((await of.find()).of('permissions of modify-stragglers')).toEqual({
      name: 'permissions of modify-stragglers',
      state: 'problem',
      what: 'imds-rollout-modify-stragglers may not ec2:ModifyInstanceMetadataOptions on arn:aws:ec2:eu-west-1:123456789012:instance/i-00000000000000000: the role’s policies',
      todo: 'Deploy again, which puts the role’s own policies back (docs/permissions.md)',
    });
  });

  it.each<[string, RegExp, Partial<Deployment>]>([
    [
      'this person may not ask IAM',
      /^missing permission iam:SimulatePrincipalPolicy: may not simulate$/,
      { permissions: { refused: () => Promise.reject(new ForbiddenError('may not simulate')) } },
    ],
    [
      'IAM does not answer',
      /^no answer$/,
      { permissions: { refused: () => Promise.reject(new TransientError('no answer')) } },
    ],
  ])('cannot tell what the functions may do where %s, and says so once', async (_why, what, change) => {
    await using of = await world();
    const found = await of.find(change);
    expect(found.bad).toEqual([]);
    expect(found.unknown).toEqual(['permissions of the functions', 'way of the functions']);
    expect(found.of('permissions of the functions')?.what).toMatch(what);
  });

  it('cannot tell it of a stack of an older version', async () => {
    await using of = await world();
    const { FunctionRoles: _, ...outputs } = of.deployment.outputs;
    const found = await of.find({ outputs });
    expect(found.of('permissions of the functions')).toMatchObject({ state: 'unknown' });
  });

  it('names a rack that is not registered', async () => {
    await using of = await world();
    of.account.registrations = [];
    expect((await of.find()).bad).toEqual(['registrations', 'registration']);
  });
});

function setAll(account: Account, values: Record<string, string>): void {
  const on = { karpenter_enabled: 'true', build_node_enabled: 'true' };
  account.parameters = Object.entries({ ...on, ...values }).map(([key, value]) => parameter(key, value));
}
