/** A rack for one test of a world; what happened to it is kept in out/karpenter/. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { onTestFailed, onTestFinished } from 'vitest';
import { reportSchema, type Report } from '../../rollout/report.ts';
import { createRack, type Machine, type Rack, type RackOptions } from './rack.ts';
import type { World } from './world.ts';

export const MINUTES = 60_000;
export const ASK = { karpenter_build_imds_tokens: 'required', karpenter_build_imds_hop_limit: '1' };

export interface TestedRack extends Rack {
  /** Starts Builds, each on a node of its own, and waits until all run. */
  busy(...builds: string[]): Promise<Machine[]>;
  /** Waits until no instance is left that is wrong or held. */
  settled(options: string): Promise<void>;
  gone(machine: Machine, seconds?: number): Promise<void>;
  modified(machine: Machine, options: string, seconds?: number): Promise<void>;
  machine(claim: string): Promise<Machine | undefined>;
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

export async function rackOf(world: World, name: string, options?: RackOptions): Promise<TestedRack> {
  const rack = await createRack(world, name, options);
  onTestFinished(() => {
    rack.stopWatching();
    keep(name, rack.history.join('\n'));
  });
  onTestFailed(() => {
    console.error(`${name}:\n${rack.history.join('\n')}`);
  });
  const machine = async (claim: string) =>
    (await rack.machines()).find((candidate) => candidate.claim === claim);
  return {
    ...rack,
    machine,
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
      world.until(`the machines of ${name} are ${wanted} and not held`, async () =>
        (await rack.machines()).every(
          ({ options: has, applied, protected: held }) => has === wanted && applied && !held,
        ),
      ),
    async report() {
      const { reports } = world.product.ports;
      const execution = rack.executions().at(-1)?.name ?? '';
      const keys = await reports.list(`${name}/`);
      const key = keys.find((candidate) => candidate.endsWith(`/${execution}.json`));
      if (key === undefined) throw new Error(`${execution} has no report among ${keys.join(', ')}`);
      return reportSchema.parse(JSON.parse((await reports.get(key)) ?? ''));
    },
    gone: ({ claim, node = claim }, seconds) =>
      world.until(`${node} of ${name} is gone`, async () => (await machine(claim)) === undefined, seconds),
    modified: ({ claim, node = claim }, wanted, seconds) =>
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
