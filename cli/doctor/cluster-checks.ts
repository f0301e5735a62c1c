/** What the service's access to a cluster needs. */
import type { Registration } from '../../rollout/ports.ts';
import type { ClusterFacts } from '../account/access.ts';
import {
  compare,
  leaseManifests,
  nameOf,
  policyManifests,
  rbacManifests,
  type Names,
} from '../account/manifests.ts';
import type { Objects } from '../account/objects.ts';
import type { Deployment } from '../deployment.ts';
import { mayModify } from '../rack/add.ts';
import { entryState, rolesOf, type EntryState } from '../rack/entries.ts';
import { rightsMissing, rightsNeeded } from '../rack/rights.ts';
import { check, ok, problem, unknown, type Check, type Finding } from './check.ts';

const again = ({ rack, cluster, nodePool }: Registration): string =>
  `Run it again: imds-rollout rack add ${rack} --cluster ${cluster} --pool ${nodePool}`;

export const clusterChecks = (
  deployment: Deployment,
  registration: Registration,
  facts: ClusterFacts,
): Promise<Check>[] => [
  check('cluster', () => clusterFinding(facts)),
  check('instances of the cluster', () =>
    mayModify(deployment.outputs.Clusters, facts.name)
      ? ok(`the deployment may modify them (${deployment.outputs.Clusters.join(', ')})`)
      : problem(
          `the deployment may modify those of ${deployment.outputs.Clusters.join(', ')} alone`,
          'Deploy again with --param="clusters=…" and this one among them (docs/deploy.md)',
        ),
  ),
  check('access entries', () => entriesFinding(deployment, registration)),
  check('way of the functions', () => wayFinding(deployment.outputs, facts)),
];

/** Whether there can be a way; whether there is one, only the functions can try. */
function wayFinding(
  { InVpc: inVpc }: Deployment['outputs'],
  { isPublic, isPrivate, publicAccessCidrs }: ClusterFacts,
): Finding {
  const some = publicAccessCidrs.filter((cidr) => cidr !== '0.0.0.0/0' && cidr !== '::/0');
  const isOpen = isPublic && (publicAccessCidrs.length === 0 || some.length < publicAccessCidrs.length);
  if (inVpc === false && !isOpen) {
    return problem(
      isPublic
        ? `the endpoint lets in ${some.join(', ')} alone, and the functions, outside of any VPC, have no address of their own`
        : 'the endpoint is private, and the functions are outside of any VPC',
      'Deploy with vpcSubnetIds and vpcSecurityGroupIds (docs/network.md)',
    );
  }
  const kind = isOpen ? 'public' : isPrivate ? 'private' : `public for ${some.join(', ')}`;
  return unknown(
    `the endpoint is ${kind}: whether the functions reach it and are let in cannot be tried from here`,
    'The first execution shows it: its Plan fails by name where they are not (docs/network.md)',
  );
}

function clusterFinding({ status, version, authenticationMode }: ClusterFacts): Finding {
  const words = `${status}, Kubernetes ${version}, authentication mode ${authenticationMode}`;
  if (authenticationMode === 'CONFIG_MAP') {
    return problem(words, 'Access entries need authentication mode API or API_AND_CONFIG_MAP');
  }
  return status === 'ACTIVE' || status === 'UPDATING'
    ? ok(words)
    : problem(words, 'Wait until the cluster is ACTIVE');
}

async function entriesFinding(
  { access, outputs }: Pick<Deployment, 'access' | 'outputs'>,
  registration: Registration,
): Promise<Finding> {
  const states = await Promise.all(
    rolesOf(outputs).map(async (role) => ({
      role: role.role.slice(role.role.lastIndexOf('/') + 1),
      group: role.group,
      state: await entryState(access, registration.cluster, role),
    })),
  );
  const wrong = states.filter(({ state }) => state.kind !== 'right');
  return wrong.length === 0
    ? ok(`all ${String(states.length)} roles have theirs`)
    : problem(
        wrong.map(({ role, group, state }) => `${role} ${inWords(state, group)}`).join('; '),
        again(registration),
      );
}

function inWords(state: EntryState, group: string): string {
  switch (state.kind) {
    case 'absent':
      return 'has none';
    case 'stale':
      return 'was made anew since and is not let in';
    case 'otherGroups':
      return `is not in group ${group}`;
    case 'otherType':
      return `has one of type ${state.type}`;
    case 'right':
      return 'has its own';
  }
}

export const objectChecks = (
  objects: Objects,
  registration: Registration,
  names: Names,
  others: readonly Names[],
): Promise<Check>[] => [
  check('rights of the groups', async () => {
    const missing = await rightsMissing(objects);
    return missing.length === 0
      ? ok(`RBAC allows all ${String(rightsNeeded().length)} things that the functions do`)
      : problem(missing.join('; '), again(registration));
  }),
  check('RBAC', () => manifestsFinding(objects, rbacManifests(), registration)),
  check('admission policy', () =>
    manifestsFinding(objects, policyManifests([names, ...others]), registration),
  ),
  check('Lease', () => manifestsFinding(objects, leaseManifests(names.nodeClass), registration)),
];

async function manifestsFinding(
  objects: Objects,
  manifests: readonly Parameters<typeof compare>[1][],
  registration: Registration,
): Promise<Finding> {
  const found = await Promise.all(
    manifests.map(async (manifest) => ({
      name: nameOf(manifest),
      found: (await compare(objects, manifest)).found,
    })),
  );
  const wrong = found.filter(({ found: how }) => how !== 'same');
  return wrong.length === 0
    ? ok(found.map(({ name }) => name).join(', '))
    : problem(
        wrong
          .map(
            ({ name, found: how }) =>
              `${name} ${how === 'absent' ? 'is missing' : 'is not as this version has it'}`,
          )
          .join('; '),
        again(registration),
      );
}
