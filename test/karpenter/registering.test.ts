/** Registering and removing racks on a real API server: defaults, dry runs and managedFields are its own. */
import { inject } from 'vitest';
import { leaseManifests, policyManifests, rbacManifests } from '../../cli/account/manifests.ts';
import { createObjects } from '../../cli/account/objects.ts';
import { describeRegistering } from '../cli/registering.ts';
import { clientOf } from './control-plane.ts';

const collections = [
  '/api/v1/namespaces/default/pods',
  '/api/v1/nodes',
  '/apis/karpenter.sh/v1/nodeclaims',
  '/apis/karpenter.sh/v1/nodepools',
  '/apis/karpenter.k8s.aws/v1/ec2nodeclasses',
];

describeRegistering('a real API server', async () => {
  const api = clientOf(inject('controlPlane'), 'admin');
  const clean = async (): Promise<void> => {
    for (const path of collections) {
      const query = { gracePeriodSeconds: '0' };
      await api({ verb: 'delete', resource: path, method: 'DELETE', path, query });
    }
    const objects = createObjects(api);
    const leases = ['build', 'other'].flatMap(leaseManifests);
    for (const manifest of [...rbacManifests(), ...policyManifests([]), ...leases]) {
      const stored = await objects.get(manifest);
      if (stored !== undefined) await objects.remove(stored);
    }
  };
  // Other files leave theirs.
  await clean();
  return { api, [Symbol.asyncDispose]: clean };
});
