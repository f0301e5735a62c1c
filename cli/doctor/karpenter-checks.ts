/** What a rollout needs of Karpenter, the pool, its class, and of others who may get at them. */
import { z } from 'zod';
import { fitsNode, podName, wouldBeBuild } from '../../rollout/builds.ts';
import { classOfAnotherRack, noHeadroom, sharedClass, type Ground } from '../../rollout/ground.ts';
import type { Node, NodePool } from '../../rollout/kubernetes.ts';
import { NODECLASS_HASH_VERSION } from '../../rollout/naming.ts';
import { foreignOwners } from '../../rollout/owners.ts';
import type { Registration } from '../../rollout/ports.ts';
import { few } from '../../rollout/state.ts';
import type { Objects } from '../account/objects.ts';
import { check, ok, problem, unknown, type Check, type Finding } from './check.ts';

export interface Seen {
  ground: Ground;
  others: readonly Registration[];
  objects: Objects;
  now: Date;
}

export const karpenterChecks = ({ ground, others, objects, now }: Seen): Promise<Check>[] => {
  const { cluster, pool, nodeClass, registration } = ground;
  const { name } = nodeClass.metadata;
  return [
    check('Karpenter', () => karpenterFinding(objects, ground)),
    check('NodePool', () => ok(`${pool.metadata.name} refers to EC2NodeClass ${name}`)),
    check('class is Ready', () => readyFinding(ground)),
    check('class of this rack alone', async () => {
      const pools = await cluster.list('NodePool');
      const here = pools.find(({ metadata }) => metadata.name === pool.metadata.name) ?? pool;
      const why = classOfAnotherRack(pools, registration, others, name) ?? sharedClass(pools, here, name);
      return why === undefined
        ? ok(`no other NodePool uses ${name}`)
        : problem(why, 'Give each pool a class of its own');
    }),
    check('headroom', () => {
      const why = noHeadroom(pool);
      return why === undefined
        ? ok(pool.spec.replicas === undefined ? 'the pool is not static' : 'limits.nodes is above replicas')
        : problem(why, 'Raise limits.nodes above replicas');
    }),
    check('owners of the options', () => {
      const owners = Object.entries(foreignOwners(nodeClass));
      return owners.length === 0
        ? ok('nobody else writes them')
        : unknown(
            `also written by ${owners.map(([manager, fields]) => `${manager} (${fields.join(', ')})`).join(', ')}`,
            'Have it render what the parameters ask for, or leave these two fields out: its next apply may put another value back, which cannot be seen from here (docs/coexistence.md)',
          );
    }),
    check('Builds elsewhere', () => elsewhereFinding(ground, now)),
  ];
};

/** What a rollout was tried on: Karpenter 1.14, whose classes have hash version 5 or 6. */
const TESTED = '1.14';
const TESTED_HASHES = ['v5', 'v6'];
const OTHER_VERSION = `Try a rollout on a rack that may fail first: what was tested is Karpenter ${TESTED}`;

const deploymentsSchema = z.object({
  items: z.array(
    z.object({
      spec: z.object({
        template: z.object({ spec: z.object({ containers: z.array(z.object({ image: z.string() })) }) }),
      }),
    }),
  ),
});

async function karpenterFinding(objects: Objects, { nodeClass }: Ground): Promise<Finding> {
  const hash = nodeClass.metadata.annotations?.[NODECLASS_HASH_VERSION];
  const found = deploymentsSchema.safeParse(
    await objects.read('/apis/apps/v1/deployments', { labelSelector: 'app.kubernetes.io/name=karpenter' }),
  );
  const versions = (found.data?.items ?? [])
    .flatMap(({ spec }) => spec.template.spec.containers)
    .map(({ image }) => /:v?(\d+\.\d+)(?:\.\d+)?/.exec(image)?.[1])
    .filter((version) => version !== undefined);
  const words = `${versions.join(', ') || 'no Deployment found'}, hash version ${hash ?? 'unknown'}`;
  if (hash === undefined) {
    return problem(
      `${words}: Karpenter has not looked at the class yet`,
      'Start Karpenter, or look for why it does not reach the class',
    );
  }
  if (versions.some((version) => version.startsWith('0.'))) {
    return problem(`${words}: before 1.0 EC2NodeClass is not v1`, 'Upgrade Karpenter');
  }
  const isTested = TESTED_HASHES.includes(hash) && versions.every((version) => version === TESTED);
  return isTested ? ok(words) : unknown(words, OTHER_VERSION);
}

function readyFinding({ nodeClass }: Ground): Finding {
  const { generation = 0 } = nodeClass.metadata;
  const ready = nodeClass.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True' && (ready.observedGeneration ?? generation) >= generation) {
    return ok(`at generation ${String(generation)}`);
  }
  const words =
    ready?.status === 'True'
      ? `Karpenter has seen generation ${String(ready.observedGeneration)} of ${String(generation)}`
      : (ready?.message ?? 'it has no condition Ready');
  return problem(words, "Look at the class's conditions: kubectl describe ec2nodeclass");
}

/**
 * Builds may also fit nodes whose options nobody here sets: additional pools and managed node groups keep the
 * rack-wide ones.
 */
async function elsewhereFinding({ cluster, pool, nodeClass }: Ground, now: Date): Promise<Finding> {
  const [nodes, pods, pools] = [
    await cluster.list('Node'),
    await cluster.list('Pod'),
    await cluster.list('NodePool'),
  ];
  const isBuildNode = ({ metadata }: Node): boolean =>
    metadata.labels?.['karpenter.sh/nodepool'] === pool.metadata.name ||
    metadata.labels?.['karpenter.k8s.aws/ec2nodeclass'] === nodeClass.metadata.name;
  const mine = new Set(nodes.filter(isBuildNode).map(({ metadata }) => metadata.name));
  const builds = pods.filter(
    (pod) => wouldBeBuild(pod, () => true, now) && mine.has(pod.spec.nodeName ?? ''),
  );
  const labelled = sameLabels(pools, pool);
  const foreign = nodes.filter((node) => !isBuildNode(node));
  const fitting = foreign.filter((node) => builds.some((build) => fitsNode(build, node, [])));
  const found = [
    ...labelled.map((name) => `NodePool ${name} has the labels of ${pool.metadata.name}`),
    ...(fitting.length === 0
      ? []
      : [
          `running Builds (${few(builds.map(podName), 3)}) would also fit ${few(fitting.map(({ metadata }) => metadata.name))}`,
        ]),
  ];
  if (found.length > 0) {
    return problem(
      found.join('; '),
      'Nodes there keep their own options: give those groups what Builds must have, or keep Builds away from them',
    );
  }
  return builds.length > 0 || (labelled.length === 0 && foreign.length === 0)
    ? ok('no other node takes the Builds that run')
    : unknown(
        'no other pool has the labels of this one, and no Build runs by which the other nodes could be tried',
        'Ask again while a Build runs',
      );
}

/** Other pools whose nodes carry all labels by which Builds may choose this one. */
function sameLabels(pools: readonly NodePool[], pool: NodePool): string[] {
  const labels = Object.entries(pool.spec.template.metadata?.labels ?? {}).filter(
    // A pool's own name is no way in.
    ([, value]) => value !== pool.metadata.name,
  );
  if (labels.length === 0) return [];
  return pools
    .filter(({ metadata }) => metadata.name !== pool.metadata.name)
    .filter(({ spec }) => labels.every(([key, value]) => spec.template.metadata?.labels?.[key] === value))
    .map(({ metadata }) => metadata.name);
}
