import { beforeAll, describe, expect, it } from 'vitest';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import type { Cluster } from '../../rollout/ports.ts';
import { createAuthority, type Authority } from './authority.ts';
import { startApiServer, type Answer, type Asked, type LocalApiServer } from './local-api-server.ts';

const clock = { now: () => new Date('2026-03-02T09:00:00.123Z') };
const status = (code: number, reason: string, message: string): Answer => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message },
});

let authority: Authority;
let stranger: Authority;
beforeAll(async () => {
  [authority, stranger] = await Promise.all([createAuthority('ours'), createAuthority('not ours')]);
});

function connect(server: LocalApiServer, trusted: Authority = authority): Cluster {
  const { certificateAuthority } = trusted;
  const api = createApiClient({
    name: 'demo',
    endpoint: server.endpoint,
    certificateAuthority,
    token: async () => 'k8s-aws-v1.abc',
  });
  return createCluster(api, clock);
}

const serve = (answer: (asked: Asked, nth: number) => Answer): Promise<LocalApiServer> =>
  startApiServer(authority, answer);

describe('the connection', () => {
  it('verifies the server against the authority that EKS names, and keeps its connections', async () => {
    await using server = await serve(() => ({ body: { metadata: { name: 'build' } } }));
    const cluster = connect(server);
    for (let call = 0; call < 5; call += 1) await cluster.get('EC2NodeClass', 'build');
    expect(server.asked).toHaveLength(5);
    // A call may come just before the one before it has given its connection back.
    expect(server.connections()).toBeLessThan(3);
    expect(server.asked[0]?.headers['authorization']).toBe('Bearer k8s-aws-v1.abc');
  });

  it('asks nothing of a server that another authority vouches for', async () => {
    await using server = await serve(() => ({ body: {} }));
    await expect(connect(server, stranger).get('Node', 'build-1')).rejects.toThrow(
      expect.objectContaining({
        name: 'TransientError',
        message: expect.stringMatching(
          /^get nodes build-1 in cluster demo: .*(certificate|signature)/,
        ) as string,
      }),
    );
    expect(server.asked).toEqual([]);
  });

  it('reads again over a connection that broke, and writes only once', async () => {
    await using server = await serve((_asked, nth) =>
      nth === 1 ? 'reset' : { body: { metadata: { name: 'build-1' } } },
    );
    await connect(server).get('Node', 'build-1');
    expect(server.asked).toHaveLength(2);

    await using other = await serve(() => 'reset');
    await expect(connect(other).patch('Node', 'build-1', {})).rejects.toThrow(
      expect.objectContaining({ name: 'TransientError' }),
    );
    expect(other.asked).toHaveLength(1);
  });
});

describe('reading', () => {
  it.each([
    ['EC2NodeClass', '/apis/karpenter.k8s.aws/v1/ec2nodeclasses'],
    ['NodePool', '/apis/karpenter.sh/v1/nodepools'],
    ['NodeClaim', '/apis/karpenter.sh/v1/nodeclaims'],
    ['Node', '/api/v1/nodes'],
    ['Pod', '/api/v1/pods'],
    ['PodDisruptionBudget', '/apis/policy/v1/poddisruptionbudgets'],
    ['Lease', '/apis/coordination.k8s.io/v1/namespaces/default/leases'],
    ['Event', '/api/v1/events'],
  ] as const)('lists each %s of %s, page by page', async (kind, path) => {
    await using server = await serve(({ query }) => ({
      body:
        query['continue'] === undefined
          ? { metadata: { continue: 'more' }, items: [{ metadata: { name: 'one' } }] }
          : { metadata: {}, items: [{ metadata: { name: 'two' } }] },
    }));
    const listed = await connect(server).list(kind);
    expect(listed.map((object) => [object.kind, object.metadata.name])).toEqual([
      [kind, 'one'],
      [kind, 'two'],
    ]);
    expect(server.asked.map((asked) => asked.path)).toEqual([path, path]);
    expect(server.asked.map(({ query }) => query['continue'])).toEqual([undefined, 'more']);
    expect(server.asked[0]?.query['limit']).toBe('500');
    expect(server.asked[0]?.query['fieldSelector']).toBe(
      kind === 'Pod' ? 'status.phase!=Succeeded,status.phase!=Failed' : undefined,
    );
  });

  it('lists the failed pods of one node, of all namespaces, page by page', async () => {
    await using server = await serve(({ query }) => ({
      body:
        query['continue'] === undefined
          ? { metadata: { continue: 'more' }, items: [{ metadata: { name: 'one' } }] }
          : { metadata: {}, items: [{ metadata: { name: 'two' } }] },
    }));
    const pods = await connect(server).failedPods('node-1');
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['one', 'two']);
    expect(server.asked.map(({ path }) => path)).toEqual(['/api/v1/pods', '/api/v1/pods']);
    expect(server.asked[0]?.query['fieldSelector']).toBe('status.phase=Failed,spec.nodeName=node-1');
  });

  it('passes on what the server said, times and unknown fields as they were', async () => {
    const metadata = {
      name: 'build',
      creationTimestamp: '2026-03-02T09:00:00Z',
      managedFields: [{ time: 'x' }],
    };
    await using server = await serve(() => ({ body: { metadata, spec: { newest: { field: 1 } } } }));
    expect(await connect(server).get('EC2NodeClass', 'build')).toEqual({
      kind: 'EC2NodeClass',
      metadata,
      spec: { newest: { field: 1 } },
    });
  });

  it('takes the time of an Event from where its API keeps it', async () => {
    const at = '2026-03-02T09:00:00.000000Z';
    await using server = await serve(() => ({
      body: {
        items: [
          { eventTime: at, lastTimestamp: null },
          { eventTime: null, lastTimestamp: 'then' },
        ],
      },
    }));
    expect((await connect(server).list('Event')).map((event) => event.lastTimestamp)).toEqual([at, 'then']);
  });

  it('finds no object where there is none, and a Lease in default', async () => {
    await using server = await serve(() => status(404, 'NotFound', 'leases "a" not found'));
    expect(await connect(server).get('Lease', 'a')).toBeUndefined();
    expect(server.asked[0]?.path).toBe('/apis/coordination.k8s.io/v1/namespaces/default/leases/a');
  });
});

describe('writing', () => {
  it('patches as a strict merge patch of its own field manager', async () => {
    await using server = await serve(() => ({ body: { metadata: { name: 'build' } } }));
    const patch = {
      metadata: { resourceVersion: '7' },
      spec: { metadataOptions: { httpTokens: 'required' } },
    };
    await connect(server).patch('EC2NodeClass', 'build', patch);
    expect(server.asked).toMatchObject([
      {
        method: 'PATCH',
        path: '/apis/karpenter.k8s.aws/v1/ec2nodeclasses/build',
        query: { fieldManager: 'imds-rollout', fieldValidation: 'Strict' },
        headers: { 'content-type': 'application/merge-patch+json' },
        body: patch,
      },
    ]);
  });

  it('writes an Event about a cluster-scoped object to default', async () => {
    await using server = await serve(() => ({ status: 201, body: {} }));
    const regarding = { kind: 'EC2NodeClass', name: 'build', uid: 'u' } as const;
    await connect(server).emit({ type: 'Normal', reason: 'IMDSRolledOut', message: 'done', regarding });
    const [asked] = server.asked;
    expect(asked?.path).toBe('/api/v1/namespaces/default/events');
    expect(asked?.body).toMatchObject({
      metadata: { namespace: 'default', name: expect.stringMatching(/^build\.[0-9a-f-]+$/) as string },
      involvedObject: { apiVersion: 'karpenter.k8s.aws/v1', ...regarding },
      reason: 'IMDSRolledOut',
      lastTimestamp: '2026-03-02T09:00:00Z',
      source: { component: 'imds-rollout' },
    });
  });

  it.each([
    [400, 'InvalidError'],
    [401, 'ForbiddenError'],
    [403, 'ForbiddenError'],
    [404, 'NotFoundError'],
    [409, 'ConflictError'],
    [410, 'TransientError'],
    [422, 'InvalidError'],
    [429, 'TransientError'],
    [500, 'TransientError'],
    [503, 'TransientError'],
    [504, 'TransientError'],
    [418, 'RolloutError'],
  ])('makes of a %i a %s that says what was asked of whom', async (code, name) => {
    await using server = await serve(() => status(code, 'Reason', 'the words of the server'));
    await expect(connect(server).patch('Node', 'build-1', {})).rejects.toThrow(
      expect.objectContaining({
        name,
        message: expect.stringMatching(/patch nodes build-1 in cluster demo.*\b\d{3}\b/) as string,
        cause: expect.objectContaining({ name: 'Reason', message: 'the words of the server' }) as Error,
      }),
    );
  });

  it('says whose permission is missing', async () => {
    await using server = await serve(() =>
      status(403, 'Forbidden', 'User "x" cannot patch resource "nodes"'),
    );
    await expect(connect(server).patch('Node', 'build-1', {})).rejects.toThrow(
      'may not patch nodes build-1 in cluster demo: 403 User "x" cannot patch resource "nodes"',
    );
  });

  it('survives an answer that is not JSON', async () => {
    await using server = await serve(() => ({ status: 502, body: '<html>Bad Gateway</html>' }));
    await expect(connect(server).patch('Node', 'build-1', {})).rejects.toThrow('<html>Bad Gateway</html>');
  });
});
