/** `rack add`: everything that the service needs of a cluster, and the registration last. Done twice it does nothing. */
import { readGround, type Ground } from '../../rollout/ground.ts';
import { ForbiddenError, InvalidError } from '../../rollout/errors.ts';
import type { Registration } from '../../rollout/ports.ts';
import type { ClusterFacts } from '../account/access.ts';
import {
  ensure,
  leaseManifests,
  nameOf,
  policyManifests,
  rbacManifests,
  type Names,
} from '../account/manifests.ts';
import type { Objects } from '../account/objects.ts';
import type { Deployment } from '../deployment.ts';
import { CommandFailure } from '../failure.ts';
import type { Say } from '../step.ts';
import { ensureEntries, rolesOf } from './entries.ts';
import { rightsMissing, rightsNeeded } from './rights.ts';

export interface AddOptions extends Registration {
  dryRun: boolean;
}

export async function addRack(deployment: Deployment, options: AddOptions, say: Say): Promise<void> {
  const { rack, cluster, nodePool, dryRun } = options;
  const registration: Registration = { rack, cluster, nodePool };
  refuseName(rack);
  const registered = await deployment.ports.records.registrations();
  const known = registered.find((each) => each.rack === rack);
  refuseOther(known, registration);
  const facts = await deployment.access.cluster(cluster);
  refuseCluster(deployment, cluster, facts);
  say(
    '=',
    `cluster ${cluster}: Kubernetes ${facts.version}, authentication mode ${facts.authenticationMode}`,
  );

  const others = registered.filter((each) => each.rack !== rack);
  const { nodeClass } = await groundOf(deployment, registration, others, say);
  const names: Names = { nodePool, nodeClass: nodeClass.metadata.name };

  const objects = await deployment.objects(cluster);
  await ensureObjects(objects, names, await namesOfOthers(deployment, cluster, others), dryRun, say);
  await ensureEntries(deployment.access, rolesOf(deployment.outputs), { cluster, dryRun }, say);

  if (known === undefined && !dryRun) await deployment.store.register(registration);
  if (!dryRun) await letInNewcomers(deployment, objects, { cluster, names, registered: others }, say);
  say(
    known === undefined ? '+' : '=',
    `registration of rack ${rack}: cluster ${cluster}, NodePool ${nodePool}`,
  );
  if (!dryRun) await tryOut(objects, facts, say);
}

/** A rack's name is a level of a parameter's name. */
function refuseName(rack: string): void {
  if (/^[\w.-]{1,100}$/.test(rack)) return;
  throw new CommandFailure(
    `${JSON.stringify(rack)} is no name of a rack\nAccepted are letters, digits, . _ and -, as in the names of its parameters`,
  );
}

function refuseOther(known: Registration | undefined, { rack, cluster, nodePool }: Registration): void {
  if (known === undefined || (known.cluster === cluster && known.nodePool === nodePool)) return;
  throw new CommandFailure(
    `rack ${rack} is registered already, for cluster ${known.cluster} and NodePool ${known.nodePool}\n` +
      `Remove that registration first: imds-rollout rack remove ${rack}`,
  );
}

/** Policies of admission are v1 from this Kubernetes on. */
const LEAST_MINOR = 30;

function refuseCluster(
  { region, outputs }: Deployment,
  name: string,
  facts: ClusterFacts | undefined,
): asserts facts is ClusterFacts {
  if (facts === undefined) {
    throw new CommandFailure(
      `there is no cluster ${name} in ${region}\nGive its name as \`aws eks list-clusters\` has it; another Region with --region`,
    );
  }
  if (facts.authenticationMode === 'CONFIG_MAP') {
    throw new CommandFailure(
      `cluster ${name} has authentication mode CONFIG_MAP, which knows no access entries\n` +
        `Change it, which cannot be undone: aws eks update-cluster-config --name ${name} --access-config authenticationMode=API_AND_CONFIG_MAP`,
    );
  }
  if (Number(facts.version.split('.')[1]) < LEAST_MINOR) {
    throw new CommandFailure(
      `cluster ${name} has Kubernetes ${facts.version}, which knows no ValidatingAdmissionPolicy v1\nUpgrade it to 1.30 or later`,
    );
  }
  if (!mayModify(outputs.Clusters, name)) {
    throw new CommandFailure(
      `the deployment may not modify instances of cluster ${name}: its clusters are ${outputs.Clusters.join(', ')}\n` +
        'Deploy again with --param="clusters=…" and this one among them (docs/deploy.md)',
    );
  }
}

/** As IAM's StringLike reads the pattern. */
export const mayModify = (patterns: readonly string[], cluster: string): boolean =>
  patterns.some((pattern) =>
    new RegExp(
      `^${pattern
        .replaceAll(/[\\^$+.()|[\]{}]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    ).test(cluster),
  );

async function groundOf(
  deployment: Deployment,
  registration: Registration,
  others: readonly Registration[],
  say: Say,
): Promise<Ground> {
  const read = await readGround(deployment.ports, registration, others);
  if (read.kind === 'gone') {
    throw new CommandFailure(
      `${read.why}\nGive the pool whose nodes run Builds with --pool; pool and class must be there before the rack is added`,
    );
  }
  const { nodeClass } = read.ground;
  for (const other of others.filter(({ cluster }) => cluster === registration.cluster)) {
    const its = await readGround(deployment.ports, other, []);
    if (its.kind === 'found' && its.ground.nodeClass.metadata.name === nodeClass.metadata.name) {
      throw new CommandFailure(
        `EC2NodeClass ${nodeClass.metadata.name} belongs to rack ${other.rack}: one class belongs to one rack\n` +
          `Give NodePool ${registration.nodePool} a class of its own, or remove rack ${other.rack}`,
      );
    }
  }
  say('=', `NodePool ${registration.nodePool} refers to EC2NodeClass ${nodeClass.metadata.name}`);
  // Registered all the same: it may be mended before anything is asked, and each rollout looks again.
  if (read.refusal !== undefined) say('!', `a rollout will be refused: ${read.refusal}`);
  return read.ground;
}

/** Pools and classes of the other racks of the cluster; a pool that vanished has none. */
export async function namesOfOthers(
  { ports }: Pick<Deployment, 'ports'>,
  cluster: string,
  others: readonly Registration[],
): Promise<Names[]> {
  const found: Names[] = [];
  for (const other of others.filter((each) => each.cluster === cluster)) {
    const read = await readGround(ports, other, []);
    if (read.kind === 'found') {
      found.push({ nodePool: other.nodePool, nodeClass: read.ground.nodeClass.metadata.name });
    }
  }
  return found;
}

/**
 * The policy names the racks of a cluster. Whoever registers another one at the same time has not read of this one; who
 * comes last finds both, and puts the policy right.
 */
async function letInNewcomers(
  deployment: Deployment,
  objects: Objects,
  { cluster, names, registered }: { cluster: string; names: Names; registered: readonly Registration[] },
  say: Say,
): Promise<void> {
  const now = await deployment.ports.records.registrations();
  const isKnown = ({ rack }: Registration): boolean => registered.some((each) => each.rack === rack);
  if (now.filter((each) => each.cluster === cluster && !isKnown(each)).length <= 1) return;
  const others = await namesOfOthers(deployment, cluster, now);
  for (const manifest of policyManifests([names, ...others])) {
    if ((await ensure(objects, manifest, false)) !== 'same')
      say('~', `${nameOf(manifest)}: another rack was registered meanwhile`);
  }
}

async function ensureObjects(
  objects: Objects,
  names: Names,
  others: readonly Names[],
  dryRun: boolean,
  say: Say,
): Promise<void> {
  // What keeps the service to its writes comes before what lets it write.
  const manifests = [
    ...policyManifests([names, ...others]),
    ...leaseManifests(names.nodeClass),
    ...rbacManifests(),
  ];
  for (const manifest of manifests) {
    const found = await ensure(objects, manifest, dryRun);
    say({ same: '=', absent: '+', different: '~' }[found] as '=' | '+' | '~', nameOf(manifest));
  }
}

/** What the functions will do, as far as somebody else can try it for them. */
async function tryOut(objects: Objects, facts: ClusterFacts, say: Say): Promise<void> {
  try {
    const missing = await rightsMissing(objects);
    for (const right of missing) say('!', right);
    if (missing.length === 0) {
      say('=', `RBAC lets the groups do all ${String(rightsNeeded().length)} things that the functions do`);
    }
  } catch (error) {
    if (!(error instanceof ForbiddenError || error instanceof InvalidError)) throw error;
    say('?', `what RBAC lets the groups do could not be asked: ${error.message}`);
  }
  const way = facts.isPublic
    ? 'whether their network reaches it'
    : 'whether they reach its private endpoint (vpcSubnetIds in docs/deploy.md)';
  say(
    '?',
    `not to be tried from here: whether EKS lets the functions' roles in, and ${way}; the first plan shows it`,
  );
}
