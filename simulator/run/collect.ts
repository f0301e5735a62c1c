/** Makes the result of the world that a run has left behind. */
import type { EC2NodeClass, ManagedFieldsEntry, Node } from '../../rollout/kubernetes.ts';
import type { MetadataOptions } from '../../rollout/ec2.ts';
import { holdOn, isCordoned, isProtected } from '../../rollout/hold.ts';
import type { MachineHistory } from '../account/ec2.ts';
import { collectRollouts, lastWord } from './rollouts.ts';
import type { RunResult } from './result.ts';
import type { World } from './world.ts';

/** What the run itself knows of how it went. */
type Played = Pick<RunResult, 'seed' | 'violations' | 'undone' | 'endedBecause'>;

export function collectResult(world: World, played: Played): RunResult {
  const { account, cluster, clock, scenario, startedAt } = world;
  const rollouts = collectRollouts(world.executions);
  const builds = cluster.builds();
  return {
    ...lastWord(rollouts),
    rollouts,
    instances: account.ec2.history.map((machine) => instanceResult(world, machine)),
    builds: builds.map(({ name, node, outcome, waitedSeconds, changedUnder, why }) => ({
      name,
      node,
      outcome,
      waitedSeconds,
      changedUnder,
      ...(why === undefined ? {} : { why }),
    })),
    buildsLost: builds.filter(({ outcome }) => outcome === 'evicted' || outcome === 'brokenByImds').length,
    held: cluster.objects('Node').flatMap((node) => {
      if (!holdOn(node)) return [];
      const held = { cordoned: isCordoned(node), protected: isProtected(node) };
      return [{ node: node.metadata.name, ...held, why: whyHeld(world, node) }];
    }),
    classes: Object.fromEntries(
      cluster.objects('EC2NodeClass').map((nodeClass) => [nodeClass.metadata.name, classResult(nodeClass)]),
    ),
    parameters: account.parameterStore.values(scenario.rack),
    notices: account.notices.sent.map(({ at, type, detail }) => ({ at, type, detail })),
    calls: Object.fromEntries(world.calls),
    ...played,
    virtualSeconds: (clock.now().getTime() - startedAt.getTime()) / 1000,
  };
}

function instanceResult(world: World, machine: MachineHistory): RunResult['instances'][number] {
  const { instance, launchedAt, atStart, modifiedAt, terminatedAt, endedBy } = machine;
  return {
    id: instance.instanceId,
    node: world.cluster.nodeOf(instance.instanceId) ?? null,
    pool: instance.tags['karpenter.sh/nodepool'] ?? null,
    launchedAt: launchedAt.toISOString(),
    atStart: optionsResult(atStart),
    atEnd: terminatedAt ? null : optionsResult(instance.metadataOptions),
    modifiedAt: modifiedAt?.toISOString() ?? null,
    terminatedAt: terminatedAt?.toISOString() ?? null,
    endedBy: endedBy ?? null,
  };
}

function optionsResult(options: MetadataOptions | undefined): RunResult['instances'][number]['atEnd'] {
  if (!options) return null;
  const { httpTokens, httpPutResponseHopLimit, state } = options;
  return { httpTokens, httpPutResponseHopLimit, state };
}

/** What a held node waits for: its Builds, else what Karpenter last said about it. */
function whyHeld({ cluster }: World, node: Node): string {
  const { name } = node.metadata;
  const running = cluster.builds().filter((build) => build.node === name && build.outcome === 'running');
  if (running.length > 0) return `runs ${running.map((build) => `Build ${build.name}`).join(', ')}`;
  const [blocked] = cluster
    .objects('Event')
    .filter(
      ({ reason, involvedObject }) =>
        reason === 'DisruptionBlocked' && involvedObject.kind === 'Node' && involvedObject.name === name,
    )
    .sort((one, other) => (other.lastTimestamp ?? '').localeCompare(one.lastTimestamp ?? ''));
  return blocked ? `waits for Karpenter: ${blocked.message}` : 'waits for Karpenter';
}

/** As the result says it. Pure. */
export function classResult({ metadata, spec }: EC2NodeClass): RunResult['classes'][string] {
  return {
    metadataOptions: { ...spec.metadataOptions },
    owners: (metadata.managedFields ?? []).flatMap((entry) => {
      const fields = ownedOptions(entry);
      return fields.length > 0 ? [{ manager: entry.manager, fields }] : [];
    }),
    annotations: Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith('imds-rollout/')),
    ),
  };
}

/** The metadata options that a manager owns: `f:spec` → `f:metadataOptions` → `f:<option>`. */
export function ownedOptions({ fieldsV1 }: ManagedFieldsEntry): string[] {
  const options = childOf(childOf(fieldsV1, 'f:spec'), 'f:metadataOptions');
  return Object.keys(options)
    .filter((key) => key.startsWith('f:'))
    .map((key) => key.slice(2));
}

function childOf(tree: Record<string, unknown>, key: string): Record<string, unknown> {
  const child = tree[key];
  return typeof child === 'object' && child !== null ? (child as Record<string, unknown>) : {};
}
