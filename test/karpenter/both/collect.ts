/** The result of a scenario that was played on the real Karpenter, by the keys that `simulate` has. */
import type { Event, Node } from '../../../rollout/kubernetes.ts';
import { holdOn, isCordoned, isProtected } from '../../../rollout/hold.ts';
import { classResult } from '../../../simulator/run/collect.ts';
import type { RunResult } from '../../../simulator/run/result.ts';
import { collectRollouts, lastWord } from '../../../simulator/run/rollouts.ts';
import type { Theatre } from './theatre.ts';
import type { Machine } from './machines.ts';
import { podName } from './objects.ts';
import { executionsOf, type Stage } from './stage.ts';

/** All but what only a simulator knows. */
export type RealResult = Omit<
  RunResult,
  'calls' | 'violations' | 'undone' | 'endedBecause' | 'virtualSeconds' | 'seed'
>;

interface Begun {
  startedAt: Date;
  /** The options of the scenario's nodes at the start. */
  atStart: ReadonlyMap<string, Machine['options']>;
}

export async function collect(world: Theatre, stage: Stage, begun: Begun): Promise<RealResult> {
  const { rack, machines, cast } = stage;
  const events = await world.cluster.list('Event');
  const executions = executionsOf(world, rack);
  const rollouts = collectRollouts(executions);
  const builds = buildResults(world, stage, begun);
  const names = new Map([...cast].map(([name, { node }]) => [node ?? '', name]));
  const nodeName = (node: string): string => names.get(node) ?? node;
  const nodeClass = machines.nodeClass();
  const parameters = await world.product.ports.parameters.list(rack);
  const result: RealResult = {
    ...lastWord(rollouts),
    rollouts,
    instances: machines.all().map((machine) => {
      const node = machine.node === undefined ? null : nodeName(machine.node);
      const modified = modificationsOf(world, machine, begun).at(-1);
      return {
        id: machine.instanceId,
        node,
        pool: 'build',
        launchedAt: machine.launchedAt,
        atStart: begun.atStart.get(node ?? '') ?? null,
        atEnd: machine.goneAt === undefined ? machine.options : null,
        modifiedAt: modified?.at.toISOString() ?? null,
        terminatedAt: machine.goneAt?.toISOString() ?? null,
        endedBy: machine.goneAt === undefined ? null : endedBy(events, machine),
      };
    }),
    builds,
    buildsLost: builds.filter(({ outcome }) => outcome === 'evicted').length,
    held: machines.nodes().flatMap((node) => {
      if (!holdOn(node)) return [];
      const why = whyHeld(node, nodeName, builds, events);
      return [
        { node: nodeName(node.metadata.name), cordoned: isCordoned(node), protected: isProtected(node), why },
      ];
    }),
    classes: nodeClass === undefined ? {} : { build: classResult(nodeClass) },
    parameters: Object.fromEntries(parameters.map(({ key, value }) => [key, value])),
    notices: world.product.notices
      .filter(({ detail }) => detail['rack'] === rack)
      .map(({ at, type, detail }) => ({ at: at.toISOString(), type, detail })),
  };
  return inScenarioWords(result, rack, names);
}

const modificationsOf = ({ ec2 }: Theatre, { instanceId }: Machine, { startedAt }: Begun) =>
  ec2.modifications.filter((one) => one.instanceId === instanceId && one.at >= startedAt);

/** Karpenter says of each NodeClaim that it disrupts why it does so. */
function endedBy(events: readonly Event[], { claimUid }: Machine): RunResult['instances'][number]['endedBy'] {
  const said = events.find(
    ({ reason, involvedObject }) => reason === 'DisruptionTerminating' && involvedObject.uid === claimUid,
  )?.message;
  if (said === undefined) return null;
  if (/drift/i.test(said)) return 'drift';
  return /empty/i.test(said) ? 'emptiness' : null;
}

function buildResults(
  world: Theatre,
  { rack, scenario, cast, machines }: Stage,
  begun: Begun,
): RunResult['builds'] {
  const names = [
    ...scenario.nodes.flatMap(({ builds }) => builds.map(({ name }) => name)),
    ...scenario.timeline.flatMap(({ action }) => (action.kind === 'build' ? [action.build.name] : [])),
  ];
  const scenarioNode = new Map([...cast].map(([name, { node }]) => [node ?? '', name]));
  return names.map((name) => {
    const fate = world.kubelet.fates.get(podName(rack, name));
    const machine = machines.all().find(({ node }) => node !== undefined && node === fate?.node);
    const changes = machine === undefined ? [] : modificationsOf(world, machine, begun);
    const why = fate?.ended?.why;
    return {
      name,
      node: fate === undefined ? null : (scenarioNode.get(fate.node) ?? fate.node),
      outcome: outcomeOf(fate?.ended?.how),
      waitedSeconds: 0,
      changedUnder: changes.some(
        ({ at }) => fate !== undefined && at >= fate.startedAt && at <= (fate.ended?.at ?? new Date()),
      ),
      ...(why !== undefined && { why }),
    };
  });
}

function outcomeOf(how: 'succeeded' | 'deleted' | undefined): RunResult['builds'][number]['outcome'] {
  if (how === undefined) return 'running';
  return how === 'succeeded' ? 'finished' : 'evicted';
}

function whyHeld(
  { metadata }: Node,
  nodeName: (node: string) => string,
  builds: RunResult['builds'],
  events: readonly Event[],
): string {
  const running = builds.filter(
    ({ node, outcome }) => node === nodeName(metadata.name) && outcome === 'running',
  );
  if (running.length > 0) return `runs ${running.map(({ name }) => `Build ${name}`).join(', ')}`;
  const blocked = events
    .filter(
      ({ reason, involvedObject }) =>
        reason === 'DisruptionBlocked' &&
        involvedObject.kind === 'Node' &&
        involvedObject.name === metadata.name,
    )
    .sort((one, other) => (other.lastTimestamp ?? '').localeCompare(one.lastTimestamp ?? ''))
    .at(0);
  return blocked ? `waits for Karpenter: ${blocked.message}` : 'waits for Karpenter';
}

/** With the scenario's names in the place of those that tell racks of one cluster apart. */
function inScenarioWords(result: RealResult, rack: string, names: ReadonlyMap<string, string>): RealResult {
  let text = JSON.stringify(result);
  for (const [real, name] of names) text = text.replaceAll(real, name);
  text = text
    .replaceAll(`default/${rack}-`, 'builds/')
    .replaceAll(new RegExp(`\\b${rack}-(\\d+)\\b`, 'g'), 'demo-$1')
    .replaceAll(`${rack}-`, '')
    .replaceAll(new RegExp(`\\b(NodePool|EC2NodeClass|class|pool) ${rack}\\b`, 'g'), '$1 build')
    .replaceAll(new RegExp(`"rack":"${rack}"`, 'g'), '"rack":"demo"');
  return JSON.parse(text) as RealResult;
}
