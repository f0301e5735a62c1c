/** What a caller without rights hears from the real authorizer, and one whom it does not know. */
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../adapters/clock.ts';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import { createAuthority } from '../adapters/authority.ts';
import { clientOf } from './control-plane.ts';

const failure = (name: string, message: RegExp) =>
  expect.objectContaining({ name, message: expect.stringMatching(message) as string }) as Error;

describe('a caller', () => {
  it('that may nothing hears what it may not', async () => {
    const cluster = createCluster(clientOf(inject('controlPlane'), 'nobody'), systemClock);
    await expect(cluster.list('NodeClaim')).rejects.toThrow(
      failure(
        'ForbiddenError',
        /^may not list nodeclaims\.karpenter\.sh in cluster demo: .*User "nobody" cannot list/,
      ),
    );
    await expect(cluster.patch('Node', 'build-1', {})).rejects.toThrow(
      failure('ForbiddenError', /^may not patch nodes build-1 .*cannot patch resource "nodes"/),
    );
    await expect(cluster.get('Lease', 'imds-rollout-build')).rejects.toThrow(
      failure('ForbiddenError', /^may not get leases\.coordination\.k8s\.io imds-rollout-build/),
    );
  });

  it('whose token is none of the cluster is told that it is not known', async () => {
    const api = createApiClient({
      ...inject('controlPlane'),
      name: 'demo',
      token: async () => 'k8s-aws-v1.x',
    });
    await expect(createCluster(api, systemClock).list('Node')).rejects.toThrow(
      failure('ForbiddenError', /does not know the role/),
    );
  });

  it('that trusts another authority does not connect', async () => {
    const { certificateAuthority } = await createAuthority('not ours');
    const plane = { ...inject('controlPlane'), certificateAuthority };
    await expect(createCluster(clientOf(plane, 'admin'), systemClock).list('Node')).rejects.toThrow(
      failure('TransientError', /certificate|signature/),
    );
  });
});
