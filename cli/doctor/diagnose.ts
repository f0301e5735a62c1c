/** Every precondition of a rack, or of all racks. */
import { readGround } from '../../rollout/ground.ts';
import type { Registration } from '../../rollout/ports.ts';
import type { Deployment } from '../deployment.ts';
import { namesOfOthers } from '../rack/add.ts';
import { accountChecks, rackChecks } from './account-checks.ts';
import { check, ok, problem, type Check } from './check.ts';
import { clusterChecks, objectChecks } from './cluster-checks.ts';
import { karpenterChecks } from './karpenter-checks.ts';
import { permissionChecks } from './permission-checks.ts';

export interface Diagnosis {
  rack: string | null;
  checks: Check[];
}

export async function diagnose(deployment: Deployment, rack: string | undefined): Promise<Diagnosis[]> {
  const [checks, permissions] = [
    await Promise.all(accountChecks(deployment)),
    await permissionChecks(deployment),
  ];
  const account: Diagnosis = { rack: null, checks: [...checks, ...permissions] };
  const readable = account.checks.find(({ name }) => name === 'registrations')?.state !== 'unknown';
  const registered = readable ? await deployment.ports.records.registrations() : [];
  if (rack !== undefined && readable && !registered.some((each) => each.rack === rack)) {
    const missing = problem(
      `rack ${rack} is not registered`,
      `Register it: imds-rollout rack add ${rack} --cluster CLUSTER`,
    );
    return [account, { rack, checks: [{ name: 'registration', ...missing }] }];
  }
  const racks: Diagnosis[] = [];
  for (const registration of registered.filter((each) => rack === undefined || each.rack === rack)) {
    const others = registered.filter((each) => each !== registration);
    racks.push({ rack: registration.rack, checks: await ofRack(deployment, registration, others) });
  }
  return [account, ...racks];
}

async function ofRack(
  deployment: Deployment,
  registration: Registration,
  others: readonly Registration[],
): Promise<Check[]> {
  const { cluster } = registration;
  const checks = await Promise.all(rackChecks(deployment, registration.rack));
  const { found: facts, failed } = await looked('cluster', () => deployment.access.cluster(cluster));
  if (failed !== undefined) return [...checks, failed];
  if (facts === undefined) {
    const gone = problem(
      `there is no cluster ${cluster} in ${deployment.region}`,
      `Remove the rack: imds-rollout rack remove ${registration.rack}`,
    );
    return [...checks, { name: 'cluster', ...gone }];
  }
  checks.push(...(await Promise.all(clusterChecks(deployment, registration, facts))));
  const { found: seen, failed: unseen } = await looked('API server', async () => ({
    objects: await deployment.objects(cluster),
    read: await readGround(deployment.ports, registration, []),
  }));
  if (seen === undefined) return unseen === undefined ? checks : [...checks, unseen];
  const { objects, read } = seen;
  checks.push({ name: 'API server', ...ok(`cluster ${cluster} answers`) });
  if (read.kind === 'gone') {
    const missing = problem(read.why, 'Put pool and class back, or register the rack for another pool');
    return [...checks, { name: 'NodePool', ...missing }];
  }
  const { ground } = read;
  const names = { nodePool: registration.nodePool, nodeClass: ground.nodeClass.metadata.name };
  const otherNames = await namesOfOthers(deployment, cluster, others);
  const now = deployment.ports.clock.now();
  checks.push(
    ...(await Promise.all([
      ...objectChecks(objects, registration, names, otherNames),
      ...karpenterChecks({ ground, others, objects, now }),
    ])),
  );
  return checks;
}

/** What the checks after it need; or the check that says why it could not be had. */
async function looked<T>(name: string, read: () => Promise<T>): Promise<{ found?: T; failed?: Check }> {
  let found: T | undefined;
  const result = await check(name, async () => {
    found = await read();
    return ok('');
  });
  return result.state === 'ok' && found !== undefined
    ? { found }
    : result.state === 'ok'
      ? {}
      : { failed: result };
}
