/** Tests with racks of their own in a world; what happened to a rack is kept in out/karpenter/. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, test } from 'vitest';
import { reportSchema, type Report } from '../../rollout/report.ts';
import { createRack, type Rack, type RackOptions } from './rack.ts';
import { waitsOf, type Waits } from './waits.ts';
import { startWorld, type World } from './world.ts';
import { optionOwners } from './writers.ts';

export const MINUTES = 60_000;
export const ASK = { karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' };
/** Stragglers are modified after a minute. */
export const SOON = { imds_rollout_deadline: '1m' };
export const succeeded = { status: 'SUCCEEDED', output: { outcome: 'Succeeded' } };
/** The schedule, which is slower. */
const RECONCILE_EVERY_S = 2;
/** Of a whole test, in milliseconds. */
export const PATIENT = { timeout: 30 * MINUTES };

export interface TestedRack extends Rack, Waits {
  /** Waits until a change gets an execution of its own: two of one half minute are one rollout by name. */
  anotherHalfMinute(): Promise<void>;
  /** Visits the rack again and again, as the schedule does, until it is so. */
  reconciled(what: string, isSo: () => Promise<boolean>): Promise<void>;
  /** Who owns options of the class, as the API server has it: by manager. */
  owners(): Promise<Record<string, string[]>>;
  /** The evidence of the rack's newest execution. */
  report(): Promise<Report>;
}

/** For people, after the run: in a folder of the lane's in out/. */
export function keep(name: string, text: string, lane = 'karpenter'): void {
  const folder = new URL(`../../out/${lane}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${name}.log`, folder), `${text}\n`);
}

/** A world for the tests of a file, with these racks registered in it, once they run. */
export function worldOf(name: string, racks: readonly string[]): () => World {
  let world: World;
  beforeAll(async () => {
    world = await startWorld(racks);
  }, 5 * MINUTES);
  afterAll(async () => {
    keep(`karpenter-of-${name}`, world.karpenterSaid());
    await world[Symbol.asyncDispose]();
  }, MINUTES);
  return () => world;
}

type MakeRack = (world: World, name: string, options?: RackOptions) => Promise<TestedRack>;

/** A test that makes racks. Side by side with others, it is its own context that knows how it ended. */
export const it = test.extend<{ rackOf: MakeRack }>({
  rackOf: async ({ onTestFailed }, use) => {
    const racks: Rack[] = [];
    onTestFailed(() => {
      for (const { name, history } of racks) console.error(`${name}:\n${history.join('\n')}`);
    });
    await use(async (world, name, options) => {
      const rack = await createRack(world, name, options);
      racks.push(rack);
      return tested(world, rack);
    });
    for (const rack of racks) {
      rack.stopWatching();
      keep(rack.name, rack.history.join('\n'));
    }
  },
});

function tested(world: World, rack: Rack): TestedRack {
  const { name } = rack;
  return {
    ...rack,
    ...waitsOf(world, rack),
    anotherHalfMinute: () =>
      world.until('another half minute has begun', () => {
        const bucket = Math.floor(Date.now() / 30_000);
        return !rack.executions().some((execution) => execution.name.endsWith(`-${bucket}`));
      }),
    reconciled: (what, isSo) =>
      world.until(
        what,
        async () => {
          await rack.product.reconcile();
          return isSo();
        },
        undefined,
        RECONCILE_EVERY_S,
      ),
    owners: async () => optionOwners(await rack.nodeClass()),
    async report() {
      const { reports } = rack.product.ports;
      const execution = rack.executions().at(-1)?.name ?? '';
      const keys = await reports.list(`${name}/`);
      const key = keys.find((candidate) => candidate.endsWith(`/${execution}.json`));
      if (key === undefined) throw new Error(`${execution} has no report among ${keys.join(', ')}`);
      return reportSchema.parse(JSON.parse((await reports.get(key)) ?? ''));
    },
  };
}
