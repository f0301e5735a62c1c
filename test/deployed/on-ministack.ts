/** A rack for one test of the deployed stack, and what its functions are and say. */
import type { TestContext } from 'vitest';
import { z } from 'zod';
import type { Outcome } from '../../rollout/record.ts';
import { keep } from '../karpenter/on-karpenter.ts';
import type { Machine } from '../karpenter/machines.ts';
import { PATIENCE_S } from '../karpenter/world.ts';
import type { DeployedRack } from './rack.ts';
import type { DeployedWorld } from './world.ts';

export interface TestedRack extends DeployedRack {
  /** Waits until the class says what is asked, and the node is to go when its Build has ended. */
  held(machine: Machine): Promise<void>;
  /** Waits until the record says what the rack's last rollout came to. */
  concluded(outcome: Outcome): Promise<void>;
}

/** For one test; what happened to it is kept in out/deployed/. */
export function rackOf(
  world: DeployedWorld,
  { onTestFailed, onTestFinished }: Pick<TestContext, 'onTestFailed' | 'onTestFinished'>,
  name: string,
): TestedRack {
  const rack = world.rack(name);
  onTestFinished(() => {
    rack.stopWatching();
    keep(name, rack.history.join('\n'), 'deployed');
  });
  onTestFailed(() => {
    console.error(`${name}:\n${rack.history.join('\n')}`);
  });
  return {
    ...rack,
    async held({ claim, node = claim }) {
      await rack.patched('required/1');
      await world.until(
        `${node} of ${name} is cordoned and protected`,
        async () => {
          const now = await rack.machine(claim);
          return now?.cordoned === true && now.protected;
        },
        PATIENCE_S,
      );
    },
    concluded: (outcome) =>
      world.until(
        `the record of ${name} says ${outcome}`,
        async () => {
          return (await rack.record()).last?.outcome === outcome;
        },
        PATIENCE_S,
      ),
  };
}

const functionsSchema = z.object({
  Functions: z.array(z.object({ FunctionName: z.string(), CodeSha256: z.string() })),
});

/** Of the functions' code, by their names. */
export async function hashes({ ministack }: DeployedWorld): Promise<Record<string, string>> {
  const { Functions } = functionsSchema.parse(await ministack.aws('lambda', 'list-functions'));
  return Object.fromEntries(
    Functions.map(({ FunctionName, CodeSha256 }) => [FunctionName, CodeSha256] as const).sort(([a], [b]) =>
      a.localeCompare(b),
    ),
  );
}

const eventsSchema = z.object({ events: z.array(z.object({ message: z.string() })) });

/** What a function has logged. */
export async function linesOf({ ministack }: DeployedWorld, name: string): Promise<string[]> {
  const group = `/aws/lambda/imds-rollout-${name}`;
  const { events } = eventsSchema.parse(
    await ministack.aws('logs', 'filter-log-events', '--log-group-name', group),
  );
  return events.map(({ message }) => message.trim());
}
