/** The simulated world as invariants see it. */
import { recordSchema } from '../../rollout/record.ts';
import { collectRollouts } from '../run/rollouts.ts';
import type { World } from '../run/world.ts';
import { createInvariants, type Invariants } from './invariants.ts';
import type { Truth } from './truth.ts';

/** Watches a run: for `runScenario(scenario, { invariants: watchWorld })`. */
export function watchWorld(world: World): Invariants {
  return createInvariants(truthOf(world));
}

function truthOf(world: World): Truth {
  const { account, cluster, scenario } = world;
  return {
    scenario,
    audit: world.audit,
    now: () => world.clock.now(),
    parameters: () => account.parameterStore.stored(scenario.rack),
    record: () => {
      const text = account.records.stored(scenario.rack);
      return text === undefined ? undefined : recordSchema.parse(JSON.parse(text));
    },
    instances: () =>
      account.ec2.history
        .filter(({ terminatedAt }) => terminatedAt === undefined)
        .map(({ instance }) => instance),
    objects: (kind) => cluster.objects(kind),
    executions: () =>
      collectRollouts(world.executions).map(({ execution, startedAt, endedAt, outcome, reason }) => ({
        name: execution,
        startedAt,
        endedAt,
        outcome,
        reason,
      })),
    builds: () => cluster.builds(),
    endOf: (node) =>
      account.ec2.history.findLast(({ instance }) => cluster.nodeOf(instance.instanceId) === node)?.endedBy,
  };
}
