/**
 * Plays scenarios on the real Karpenter in real time, side by side in one cluster, and gives what `simulate` gives:
 * the same product, the same files, the same keys.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { retryRollout } from '../../../rollout/retry.ts';
import { loadScenario } from '../../../simulator/scenario/load.ts';
import type { Scenario, ScenarioAction } from '../../../simulator/scenario/scenario.ts';
import type { EventFate } from '../../../simulator/account/event-bus.ts';
import { RUNS_FOR } from '../kubelet.ts';
import { keep } from '../on-karpenter.ts';
import type { Theatre } from './theatre.ts';
import { collect, type RealResult } from './collect.ts';
import { inexpressible } from './expressible.ts';
import { podName } from './objects.ts';
import { openSight } from './sight.ts';
import { AT_ONCE_MS, executionsOf, setStage, type Stage } from './stage.ts';

/** The scenario in a file, for both. Throws with a line for each key that the real Karpenter cannot play. */
export function readScenario(file: URL): Scenario {
  const text = readFileSync(file, 'utf8');
  const scenario = loadScenario(text, file.pathname);
  const problems = inexpressible(text);
  if (problems.length > 0) throw new Error(`${scenario.name} is not for both:\n${problems.join('\n')}`);
  return scenario;
}

/** By name; what went wrong in one is no matter of the others. */
export async function playAll(
  world: Theatre,
  scenarios: readonly Scenario[],
): Promise<Map<string, PromiseSettledResult<RealResult>>> {
  await using sight = openSight(world);
  const stages = await Promise.allSettled(scenarios.map((scenario) => setStage(world, sight, scenario)));
  // From here on the time of all of them runs: reconcile comes two minutes after the start, and every two minutes.
  const endSchedule = world.product.events.startSchedule();
  try {
    const results = await Promise.allSettled(
      stages.map(async (stage) => {
        if (stage.status === 'rejected') throw stage.reason;
        return play(world, stage.value);
      }),
    );
    return new Map(results.map((result, index) => [scenarios[index]?.name ?? '', result]));
  } finally {
    endSchedule();
  }
}

async function play(world: Theatre, stage: Stage): Promise<RealResult> {
  const { rack, scenario } = stage;
  const startedAt = new Date();
  const atStart = new Map([...stage.cast].map(([name, { options }]) => [name, options]));
  const told: string[] = [];
  const changes = noteChanges(world, stage, (text) => {
    told.push(`${((Date.now() - startedAt.getTime()) / 1000).toFixed(1)} s ${text}`);
  });
  const state = { played: 0, failed: undefined as unknown };
  const entries = [...timeline(world, stage)];
  const acting = (async () => {
    for (const { at, act } of entries) {
      await pause(Math.max(0, startedAt.getTime() + at - Date.now()));
      await act();
      state.played += 1;
      changes.note();
    }
  })().catch((error: unknown) => {
    state.failed = error;
  });
  try {
    await world.until(
      `${rack} has come to its end`,
      () => {
        if (state.failed !== undefined) return true;
        changes.look();
        if (Date.now() - startedAt.getTime() >= scenario.runFor) return true;
        return (
          state.played === entries.length && !changes.busy() && changes.quietFor() >= changes.quietEnough()
        );
      },
      scenario.runFor / 1000 + 10,
    );
    if (state.failed !== undefined) throw state.failed as Error;
    await acting;
    return await collect(world, stage, { startedAt, atStart });
  } finally {
    keep(`both-${rack}`, told.join('\n'));
  }
}

interface Act {
  at: number;
  act: () => Promise<unknown>;
}

/** Everything that happens at a moment: Builds that are there begin to run out, others come, and the timeline. */
function timeline(world: Theatre, stage: Stage): Act[] {
  const { scenario, hands, cast, rack } = stage;
  const runsFor = (milliseconds: number) => ({ [RUNS_FOR]: String(milliseconds / 1000) });
  const builds = scenario.nodes.flatMap((node) =>
    node.builds.map((build): Act =>
      build.startsAt <= 0
        ? { at: 0, act: () => hands.annotatePod(build.name, runsFor(build.runsFor + build.startsAt)) }
        : {
            at: build.startsAt,
            act: () => hands.addBuild(build, runsFor(build.runsFor), cast.get(node.name)?.node),
          },
    ),
  );
  const bad =
    (scenario.karpenter.classReady ?? 0) > AT_ONCE_MS ? [{ at: 0, act: () => mendLater(world, stage) }] : [];
  let fate: EventFate | undefined;
  const change = async (names: readonly string[], operation: 'Update' | 'Delete'): Promise<void> => {
    world.product.events.withFate(fate, () => {
      for (const name of names) {
        world.product.events.parameterChanged({ name: hands.parameterName(name), operation, type: 'String' });
      }
    });
    fate = undefined;
  };
  const act = async (action: ScenarioAction): Promise<void> => {
    switch (action.kind) {
      case 'set':
        for (const [key, value] of Object.entries(action.parameters)) await hands.set(key, value);
        return change(Object.keys(action.parameters), 'Update');
      case 'unset':
        for (const key of action.keys) await hands.unset(key);
        return change(action.keys, 'Delete');
      case 'event':
        fate = action.fate === 'late' ? { fate: 'late', by: action.by } : { fate: action.fate };
        return;
      case 'build':
        await hands.addBuild(action.build, runsFor(action.build.runsFor));
        return;
      case 'editClass':
        await hands.editClass(action.options, action.manager);
        return;
      case 'modifyInstance':
        await hands.modifyInstance(cast.get(action.node)?.instanceId ?? '', action.options);
        return;
      case 'command':
        await retryRollout(world.product.ports, rack);
        return;
      case 'stopExecution': {
        const running = executionsOf(world, rack).findLast(({ status }) => status === 'RUNNING');
        if (running !== undefined) world.product.stop(running.name);
        return;
      }
      default:
        throw new Error(`${action.kind} was not refused`);
    }
  };
  return [
    ...builds,
    ...bad,
    ...scenario.timeline.map(({ at, action }): Act => ({ at, act: () => act(action) })),
  ].sort((one, other) => one.at - other.at);
}

/** The class becomes Ready so long after it was patched. It goes on by itself. */
async function mendLater(world: Theatre, { rack, scenario, machines, hands }: Stage): Promise<void> {
  const { classReady } = scenario.karpenter;
  if (classReady === null) return;
  const before = JSON.stringify(machines.nodeClass()?.spec.metadataOptions);
  void world
    .until(
      `EC2NodeClass ${rack} is patched`,
      () => JSON.stringify(machines.nodeClass()?.spec.metadataOptions) !== before,
      scenario.runFor / 1000,
    )
    .then(() => pause(classReady))
    .then(() => hands.mendClass());
}

/** Nothing more comes once nothing has changed for so long; where something is held, reconcile may have come twice. */
const QUIET_MS = 45_000;
const QUIET_WHILE_HELD_MS = 130_000;

/** Whether the rack has come to rest, from what changes in it. */
function noteChanges(world: Theatre, { rack, machines, scenario }: Stage, tell: (text: string) => void) {
  let changedAt = Date.now();
  let before = new Map<string, string>();
  const builds = [
    ...scenario.nodes.flatMap((node) => node.builds.map(({ name }) => name)),
    ...scenario.timeline.flatMap(({ action }) => (action.kind === 'build' ? [action.build.name] : [])),
  ];
  const held = (): boolean =>
    machines.nodes().some(({ metadata }) => metadata.annotations?.['imds-rollout/hold'] !== undefined);
  return {
    /** Something was done to it, which has yet to show. */
    note() {
      changedAt = Date.now();
    },
    look() {
      const now = new Map<string, string>();
      for (const { instanceId, ...machine } of machines.all()) now.set(instanceId, JSON.stringify(machine));
      for (const { metadata, spec } of machines.nodes()) {
        const { annotations = {} } = metadata;
        now.set(
          metadata.name,
          JSON.stringify([
            spec.unschedulable,
            annotations['karpenter.sh/do-not-disrupt'],
            annotations['imds-rollout/hold'],
          ]),
        );
      }
      for (const build of builds) {
        now.set(build, JSON.stringify(world.kubelet.fates.get(podName(rack, build)) ?? null));
      }
      for (const { name, status, cause, payload } of executionsOf(world, rack)) {
        now.set(name, JSON.stringify([status, cause, payload['waitsFor'], payload['outcome']]));
      }
      now.set('class', JSON.stringify(machines.nodeClass()?.spec.metadataOptions));
      for (const [what, is] of now) {
        if (before.get(what) === is) continue;
        tell(`${what} ${is}`);
        changedAt = Date.now();
      }
      before = now;
    },
    busy: (): boolean =>
      executionsOf(world, rack).some(({ status }) => status === 'RUNNING') ||
      builds.some((build) => world.kubelet.fates.get(podName(rack, build))?.ended === undefined) ||
      machines.launching() > 0 ||
      machines
        .all()
        .some(({ goneAt, isLeaving, node }) => goneAt === undefined && (isLeaving || node === undefined)),
    quietFor: () => Date.now() - changedAt,
    quietEnough: () => (held() ? QUIET_WHILE_HELD_MS : QUIET_MS),
  };
}
