/** The scene of a rack as it is now, read through the ports. */
import { podName, selectorOf } from '../../rollout/builds.ts';
import { decide } from '../../rollout/desired.ts';
import { readFleet, type BuildNode } from '../../rollout/fleet.ts';
import { readGround } from '../../rollout/ground.ts';
import { isCordoned, isProtected } from '../../rollout/hold.ts';
import type { Event } from '../../rollout/kubernetes.ts';
import { executionsOf } from '../../rollout/naming.ts';
import { classOptions } from '../../rollout/options.ts';
import type { Deployment } from '../deployment.ts';
import { CommandFailure } from '../failure.ts';
import { requireRegistration } from '../rack/racks.ts';
import { newestOf } from './newest.ts';
import { unlessOurs, type Scene, type SceneNode } from '../view/scene.ts';

type Asked = Pick<Deployment, 'ports' | 'progress' | 'stack' | 'region'>;

export async function sceneNow(asked: Asked, rack: string): Promise<Scene> {
  const { ports } = asked;
  const registration = await requireRegistration(asked, rack);
  const read = await readGround(ports, registration, []);
  if (read.kind === 'gone') {
    throw new CommandFailure(
      `${read.why}\nPut it back, or remove the rack: imds-rollout rack remove ${rack}`,
    );
  }
  const { cluster, nodeClass } = read.ground;
  const decision = decide(await ports.parameters.list(rack), true);
  const isSelected = selectorOf(decision.kind === 'asks' ? decision.policy : {});
  const fleet = await readFleet(ports, cluster, registration, read.ground, isSelected);
  const [events, nodes, workflow] = await Promise.all([
    cluster.list('Event'),
    cluster.list('Node'),
    workflowOf(asked, rack),
  ]);
  const said = blockedEvents(events);
  const seen = fleet.nodes.filter(({ node, claim }) => node !== undefined || claim !== undefined);
  return {
    at: ports.clock.now(),
    startsAt: undefined,
    workflow,
    className: nodeClass.metadata.name,
    classOptions: classOptions(nodeClass),
    nodes: seen.map((node) => sceneNode(node, said)),
    others: nodes.length - seen.filter(({ node }) => node !== undefined).length,
    waiting: fleet.waiting.map(podName),
    ended: undefined,
  };
}

async function workflowOf({ ports, progress }: Asked, rack: string): Promise<Scene['workflow']> {
  const newest = newestOf(executionsOf(rack, await ports.workflow.running()));
  if (newest !== undefined) {
    const place = await progress.of(newest.name);
    return { execution: newest.name, status: 'RUNNING', ...place };
  }
  const { last } = await ports.records.read(rack);
  return last && { execution: last.execution, status: last.outcome, state: '', waitsFor: '' };
}

/** What Karpenter last said that it cannot take a node for. */
function blockedEvents(events: readonly Event[]): ReadonlyMap<string, string> {
  const blocked = events
    .filter(({ reason, involvedObject }) => reason === 'DisruptionBlocked' && involvedObject.kind === 'Node')
    .sort((one, other) => (one.lastTimestamp ?? '').localeCompare(other.lastTimestamp ?? ''));
  return new Map(blocked.map(({ involvedObject, message }) => [involvedObject.name, message]));
}

function sceneNode(node: BuildNode, said: ReadonlyMap<string, string>): SceneNode {
  const held = node.node ?? node.claim;
  return {
    name: node.name,
    options: node.instance?.metadataOptions,
    cordoned: node.node !== undefined && isCordoned(node.node),
    protected: held !== undefined && isProtected(held),
    held: node.hold !== undefined,
    drifted: node.drifted,
    ready:
      node.node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ===
      true,
    leaving: node.leaving,
    blockedBy: unlessOurs(said.get(node.name), node.hold),
    builds: node.builds,
  };
}
