/**
 * `rack remove`: hands over what the service has, takes away what `rack add` made, and forgets the rack last, so that
 * it can be run again after whatever stopped it.
 */
import { TransientError } from '../../rollout/errors.ts';
import { readGround, type GroundRead } from '../../rollout/ground.ts';
import { CANARY_ANNOTATION, executionsOf, leaseName } from '../../rollout/naming.ts';
import type { RolloutRecord } from '../../rollout/record.ts';
import { markedNodes } from '../../rollout/put-back.ts';
import { releaseOwn } from '../../rollout/tidy.ts';
import { holderOf } from '../../rollout/turn.ts';
import type { Lease } from '../../rollout/kubernetes.ts';
import type { Cluster, Registration } from '../../rollout/ports.ts';
import { few } from '../../rollout/state.ts';
import { ensure, leaseManifests, nameOf, policyManifests, rbacManifests } from '../account/manifests.ts';
import type { Objects, Stored } from '../account/objects.ts';
import type { Deployment } from '../deployment.ts';
import { CommandFailure } from '../failure.ts';
import type { Say } from '../step.ts';
import { namesOfOthers } from './add.ts';
import { removeEntries, rolesOf } from './entries.ts';
import { handOver, NO_EVIDENCE, refuseLosses, type Choice } from './hand-over.ts';
import { requireRegistration } from './racks.ts';

export interface RemoveOptions {
  rack: string;
  choice: Choice | undefined;
  dryRun: boolean;
}

export async function removeRack(deployment: Deployment, options: RemoveOptions, say: Say): Promise<void> {
  const { rack, dryRun } = options;
  const registration = await requireRegistration(deployment, rack);
  await refuseRunning(deployment, rack);
  const others = (await deployment.ports.records.registrations()).filter((each) => each.rack !== rack);
  const { cluster } = registration;
  if ((await deployment.access.cluster(cluster)) === undefined) {
    say('=', `there is no cluster ${cluster} any more: nothing to clean up there`);
  } else {
    await cleanCluster(deployment, registration, others, options, say);
  }
  if (!dryRun) await deployment.store.forget(rack);
  say('-', `record and registration of rack ${rack}`);
  const { ParameterPrefix, ReportBucket } = deployment.outputs;
  say(
    '=',
    `left as they are: the parameters under ${ParameterPrefix}${rack}/ and the reports in s3://${ReportBucket}/${rack}/`,
  );
}

async function refuseRunning({ ports }: Pick<Deployment, 'ports'>, rack: string): Promise<void> {
  const [running] = executionsOf(rack, await ports.workflow.running());
  if (running === undefined) return;
  throw new CommandFailure(
    `rollout ${running.name} of rack ${rack} is running\n` +
      'Wait for its end (imds-rollout watch), or stop the execution in the Step Functions console and wait two minutes',
  );
}

async function cleanCluster(
  deployment: Deployment,
  registration: Registration,
  others: readonly Registration[],
  { rack, choice, dryRun }: RemoveOptions,
  say: Say,
): Promise<void> {
  const { ports, access, outputs } = deployment;
  const { cluster } = registration;
  const objects = await deployment.objects(cluster);
  const read = await readGround(ports, registration, []);
  await refuseCanary(read.kind === 'found' ? read.ground.cluster : read.cluster, registration);
  const record = await ports.records.read(rack);
  const sharing = others.filter((each) => each.cluster === cluster);
  const otherNames = await namesOfOthers(deployment, cluster, others);
  if (read.kind === 'found') {
    await refuseLosses(ports, { ground: read.ground, record, choice, dryRun }, rack);
  }
  await removeLeases(
    deployment,
    objects,
    rack,
    leasesOf(
      read,
      otherNames.map(({ nodeClass }) => nodeClass),
      objects,
    ),
    dryRun,
    say,
  );
  await giveBack(deployment, read, registration, { record, choice, dryRun }, say);
  if (sharing.length > 0) {
    const racks = sharing.map((each) => each.rack).join(', ');
    for (const manifest of policyManifests(otherNames)) {
      const found = await ensure(objects, manifest, dryRun);
      say(found === 'same' ? '=' : '~', `${nameOf(manifest)}: of rack ${racks}`);
    }
    say('=', `RBAC and access entries: still needed by rack ${racks}`);
    return;
  }
  await removeEntries(access, rolesOf(outputs), { cluster, dryRun }, say);
  // What lets the service write goes before what keeps it to its writes, and bindings before what they bind.
  const shared = [...rbacManifests().reverse(), ...policyManifests([]).reverse()];
  for (const manifest of shared) {
    await removeObject(objects, await objects.get(manifest), nameOf(manifest), dryRun, say);
  }
}

/** Without its rack nobody puts a canary back: its mark alone knows what its instance had before. */
async function refuseCanary(cluster: Cluster, registration: Registration): Promise<void> {
  const marked = (await markedNodes(cluster, registration)).map(({ node }) => node.metadata.name);
  if (marked.length === 0) return;
  throw new CommandFailure(
    `nodes of rack ${registration.rack} carry the mark of a canary, which is not put back yet: ${few(marked)}\n` +
      `Reconcile starts a rollout within minutes that puts it back: wait for its end (imds-rollout watch) and remove the rack then. To leave an instance as it is, take annotation ${CANARY_ANNOTATION} off its node first`,
  );
}

async function giveBack(
  { ports }: Deployment,
  read: GroundRead,
  registration: Registration,
  over: { record: RolloutRecord; choice: Choice | undefined; dryRun: boolean },
  say: Say,
): Promise<void> {
  if (read.kind === 'found') {
    await handOver(ports, { ground: read.ground, ...over }, say);
    return;
  }
  say('=', `${read.why}: there is no class to hand back`);
  if (over.dryRun) return;
  const { entries, known } = await releaseOwn(ports, read.cluster, registration, undefined, NO_EVIDENCE);
  if (!known) throw new TransientError('not every hold could be released: run this again');
  say(entries.length === 0 ? '=' : '-', `${String(entries.length)} holds`);
}

/** The Lease of the class; where the class cannot be told any more, those of no other rack's class. */
async function leasesOf(
  read: GroundRead,
  otherClasses: readonly string[],
  objects: Objects,
): Promise<Stored[]> {
  if (read.kind === 'gone') {
    const others = new Set(otherClasses.map(leaseName));
    return (await objects.leasesMade()).filter(({ metadata }) => !others.has(metadata.name));
  }
  const manifests = leaseManifests(read.ground.nodeClass.metadata.name);
  const found = await Promise.all(manifests.map((manifest) => objects.get(manifest)));
  return found.filter((lease) => lease !== undefined);
}

/**
 * First of all: without its Lease no rollout can write for the class, so none comes between from here on. A rollout
 * that began meanwhile has it, and is not cut short.
 */
async function removeLeases(
  deployment: Deployment,
  objects: Objects,
  rack: string,
  found: Promise<Stored[]>,
  dryRun: boolean,
  say: Say,
): Promise<void> {
  const leases = await found;
  for (const lease of leases) {
    const holder = holderOf(lease as unknown as Lease);
    const status = holder && (await deployment.ports.workflow.describe(holder.execution))?.status;
    if (holder !== undefined && status === 'RUNNING') {
      throw new CommandFailure(
        `rollout ${holder.execution} has the Lease ${lease.metadata.name} and is running\nWait for its end (imds-rollout watch)`,
      );
    }
    await removeObject(objects, lease, nameOf(lease), dryRun, say);
  }
  if (leases.length === 0) say('=', 'no Lease of the class');
  if (!dryRun) await refuseRunning(deployment, rack);
}

async function removeObject(
  objects: Objects,
  stored: Stored | undefined,
  name: string,
  dryRun: boolean,
  say: Say,
): Promise<void> {
  const was = stored !== undefined && (dryRun || (await objects.remove(stored)));
  say(was ? '-' : '=', `${name}${was ? '' : ': none'}`);
}
