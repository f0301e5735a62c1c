/** What a test waits for at the machines of a rack. */
import { isDeepStrictEqual } from 'node:util';
import type { EC2NodeClass } from '../../rollout/kubernetes.ts';
import type { Builds } from './builds.ts';
import type { Machine } from './machines.ts';
import type { Parts } from './world.ts';

export interface Waits {
  /** Starts Builds, each on a node of its own, and waits until all run. */
  busy(...builds: string[]): Promise<Machine[]>;
  /** Waits until no instance is left that is wrong or held. */
  settled(options: string): Promise<void>;
  gone(machine: Machine, seconds?: number): Promise<void>;
  modified(machine: Machine, options: string, seconds?: number): Promise<void>;
  machine(claim: string): Promise<Machine | undefined>;
  /** Waits until the machine is as said. */
  becomes(machine: Machine, wanted: Partial<Machine>): Promise<void>;
  patched(options: string): Promise<void>;
}

interface Waiting extends Builds {
  name: string;
  nodeClass(): Promise<EC2NodeClass>;
}

/** Of whoever waits for Karpenter, which takes one node of all racks at a time. */
export const PATIENCE_S = 300;

export function waitsOf(world: Parts, rack: Waiting): Waits {
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
    machine,
    becomes,
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
