/** Tests with racks of their own in a world; what happened to a rack is kept in out/karpenter/. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'vitest';
import { reportSchema, type Report } from '../../rollout/report.ts';
import type { Machine } from './machines.ts';
import { createRack, type Rack, type RackOptions } from './rack.ts';
import type { World } from './world.ts';
import { optionOwners } from './writers.ts';

export const MINUTES = 60_000;
export const ASK = { karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' };
/** Stragglers are modified after a minute. */
export const SOON = { imds_rollout_deadline: '1m' };
export const succeeded = { status: 'SUCCEEDED', output: { outcome: 'Succeeded' } };
/** Of whoever waits for Karpenter, which takes one node of all racks at a time. */
const PATIENCE_S = 300;

export interface TestedRack extends Rack {
  /** Starts Builds, each on a node of its own, and waits until all run. */
  busy(...builds: string[]): Promise<Machine[]>;
  /** Waits until no instance is left that is wrong or held. */
  settled(options: string): Promise<void>;
  gone(machine: Machine, seconds?: number): Promise<void>;
  modified(machine: Machine, options: string, seconds?: number): Promise<void>;
  machine(claim: string): Promise<Machine | undefined>;
  /** Waits until the machine is as said. */
  becomes(machine: Machine, wanted: Partial<Machine>): Promise<void>;
  /** Waits until a change gets an execution of its own: two of one half minute are one rollout by name. */
  anotherHalfMinute(): Promise<void>;
  /** Visits the rack again and again, as the schedule does, until it is so. */
  reconciled(what: string, isSo: () => Promise<boolean>): Promise<void>;
  /** Who owns options of the class, as the API server has it: by manager. */
  owners(): Promise<Record<string, string[]>>;
  patched(options: string): Promise<void>;
  /** The evidence of the rack's newest execution. */
  report(): Promise<Report>;
}

/** For people, after the run. */
export function keep(name: string, text: string): void {
  const folder = new URL('../../out/karpenter/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${name}.log`, folder), `${text}\n`);
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
  const machine = async (claim: string) =>
    (await rack.machines()).find((candidate) => candidate.claim === claim);
  const becomes = (its: Machine, wanted: Partial<Machine>): Promise<void> =>
    world.until(
      `${its.node ?? its.claim} of ${name} is ${JSON.stringify(wanted)}`,
      async () => {
        const now = await machine(its.claim);
        return now !== undefined && isDeepStrictEqual({ ...now, ...wanted }, now);
      },
      PATIENCE_S,
    );
  return {
    ...rack,
    machine,
    becomes,
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
        PATIENCE_S,
      ),
    owners: async () => optionOwners(await rack.nodeClass()),
    async busy(...builds) {
      for (const build of builds) await rack.startBuild(build);
      return Promise.all(
        builds.map(async (build) => {
          await rack.running(build);
          const its = await rack.machineOf(build);
          if (its === undefined) throw new Error(`Build ${build} runs on no machine`);
          return its;
        }),
      );
    },
    settled: (wanted) =>
      world.until(
        `the machines of ${name} are ${wanted} and not held`,
        async () =>
          (await rack.machines()).every(
            ({ options: has, applied, protected: held }) => has === wanted && applied && !held,
          ),
        PATIENCE_S,
      ),
    async report() {
      const { reports } = rack.product.ports;
      const execution = rack.executions().at(-1)?.name ?? '';
      const keys = await reports.list(`${name}/`);
      const key = keys.find((candidate) => candidate.endsWith(`/${execution}.json`));
      if (key === undefined) throw new Error(`${execution} has no report among ${keys.join(', ')}`);
      return reportSchema.parse(JSON.parse((await reports.get(key)) ?? ''));
    },
    gone: ({ claim, node = claim }, seconds = PATIENCE_S) =>
      world.until(`${node} of ${name} is gone`, async () => (await machine(claim)) === undefined, seconds),
    modified: ({ claim, node = claim }, wanted, seconds = PATIENCE_S) =>
      world.until(
        `${node} of ${name} is modified live to ${wanted}`,
        async () => (await machine(claim))?.options === wanted,
        seconds,
      ),
    patched: (wanted) =>
      world.until(`EC2NodeClass ${name} says ${wanted}`, async () => {
        const { metadataOptions } = (await rack.nodeClass()).spec;
        return (
          `${metadataOptions?.httpTokens ?? ''}/${metadataOptions?.httpPutResponseHopLimit ?? ''}` === wanted
        );
      }),
  };
}
