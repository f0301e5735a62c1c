/** One moment of a run as people look at it: the workflow, each build node, what waits for what. */
import type { MetadataOptions } from '../../rollout/ec2.ts';
import { isOfAnnotation } from '../../rollout/blockers.ts';
import { holdOn, type Hold } from '../../rollout/hold.ts';
import type { Node } from '../../rollout/kubernetes.ts';
import type { World } from '../../simulator/run/world.ts';

export interface SceneNode {
  name: string;
  options: MetadataOptions | undefined;
  cordoned: boolean;
  protected: boolean;
  /** By this service. */
  held: boolean;
  drifted: boolean;
  ready: boolean;
  leaving: boolean;
  builds: string[];
  /** What Karpenter last said that it cannot take the node for, but for our own hold; undefined where it said nothing. */
  blockedBy: string | undefined;
}

export interface Scene {
  at: Date;
  /** What times are counted from in a scenario; an account has no such moment. */
  startsAt: Date | undefined;
  /** The last execution; undefined before any. */
  workflow: { execution: string; state: string; status: string; waitsFor: string } | undefined;
  className: string;
  classOptions: { httpTokens?: string; httpPutResponseHopLimit?: number };
  nodes: SceneNode[];
  /** Nodes of other pools. */
  others: number;
  /** Builds that wait for a node. */
  waiting: string[];
  /** Builds that have ended, by outcome; undefined where nobody counts them. */
  ended: Record<string, string> | undefined;
}

/** Of a node that we hold Karpenter says that its annotation keeps it: that is known better from the hold. */
export const unlessOurs = (said: string | undefined, hold: Hold | undefined): string | undefined =>
  hold !== undefined && hold.before.doNotDisrupt !== 'true' && said !== undefined && isOfAnnotation(said)
    ? undefined
    : said;

/** A scenario's rack is registered with the pool of this name. */
const POOL = 'build';

/** The class that the rack's pool refers to by now; of a pool that is gone, the one that it began with. */
const classOf = ({ cluster, scenario }: World): string =>
  cluster.object('NodePool', POOL)?.spec.template.spec.nodeClassRef.name ??
  scenario.pools[POOL]?.class ??
  'of no pool';

export function sceneOf(world: World): Scene {
  const { cluster, clock, executions } = world;
  const last = executions.at(-1);
  const claims = new Map(cluster.objects('NodeClaim').map((claim) => [claim.status?.providerID, claim]));
  const builds = cluster.builds();
  const nodes = cluster.objects('Node');
  const said = new Map(
    cluster
      .objects('Event')
      .filter(
        ({ reason, involvedObject }) => reason === 'DisruptionBlocked' && involvedObject.kind === 'Node',
      )
      .map(({ involvedObject, message }) => [involvedObject.name, message]),
  );
  const isBuild = (node: Node): boolean => node.metadata.labels?.['karpenter.sh/nodepool'] === POOL;
  const className = classOf(world);
  return {
    at: clock.now(),
    startsAt: world.startedAt,
    workflow: last && {
      execution: last.name,
      state: last.state ?? '',
      status: last.status,
      waitsFor: typeof last.payload['waitsFor'] === 'string' ? last.payload['waitsFor'] : '',
    },
    className,
    classOptions: { ...cluster.object('EC2NodeClass', className)?.spec.metadataOptions },
    nodes: nodes.filter(isBuild).map((node) => {
      const claim = claims.get(node.spec.providerID);
      const instance = world.account.ec2.machines.get(node.spec.providerID?.split('/').at(-1) ?? '');
      return {
        name: node.metadata.name,
        options: instance?.metadataOptions && { ...instance.metadataOptions },
        cordoned: node.spec.unschedulable === true,
        protected: node.metadata.annotations?.['karpenter.sh/do-not-disrupt'] === 'true',
        held: holdOn(node) !== undefined,
        drifted:
          claim?.status?.conditions?.some(({ type, status }) => type === 'Drifted' && status === 'True') ===
          true,
        ready:
          node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
        leaving: node.metadata.deletionTimestamp !== undefined,
        blockedBy: unlessOurs(said.get(node.metadata.name), holdOn(node)),
        builds: builds
          .filter((build) => build.node === node.metadata.name && build.outcome === 'running')
          .map(({ name }) => name),
      };
    }),
    others: nodes.filter((node) => !isBuild(node)).length,
    waiting: builds
      .filter(({ node, outcome }) => node === null && outcome === 'running')
      .map(({ name }) => name),
    ended: Object.fromEntries(
      builds.filter(({ outcome }) => outcome !== 'running').map(({ name, outcome }) => [name, outcome]),
    ),
  };
}
