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
  gone(machine: Machine): Promise<void>;
  modified(machine: Machine, options: string): Promise<void>;
  machine(claim: string): Promise<Machine | undefined>;
  /** Waits until the machine is as said. */
  becomes(machine: Machine, wanted: Partial<Machine>): Promise<void>;
  patched(options: string): Promise<void>;
}

interface Waiting extends Builds {
  name: string;
  nodeClass(): Promise<EC2NodeClass>;
}

export function waitsOf(world: Parts, rack: Waiting): Waits {
  const { name } = rack;
  const machine = async (claim: string) =>
    (await rack.machines()).find((candidate) => candidate.claim === claim);
  /** Waits for the rack's machines to be so, at some moment from now on. */
  const until = (what: string, isSo: (machines: Machine[]) => boolean): Promise<void> => {
    const since = Date.now();
    return world.until(`${what} of ${name}`, async () => isSo(await rack.machines(since)));
  };
  const find = (machines: Machine[], { claim }: Machine): Machine | undefined =>
    machines.find((candidate) => candidate.claim === claim);
  const called = ({ claim, node = claim }: Machine): string => node;
  return {
    machine,
    becomes: (its, wanted) =>
      until(`${called(its)} being ${JSON.stringify(wanted)}`, (machines) => {
        const now = find(machines, its);
        return now !== undefined && isDeepStrictEqual({ ...now, ...wanted }, now);
      }),
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
      until(`all machines being ${wanted} and not held`, (machines) =>
        machines.every(({ options, applied, protected: held }) => options === wanted && applied && !held),
      ),
    gone: (its) => until(`the end of ${called(its)}`, (machines) => find(machines, its) === undefined),
    modified: (its, wanted) =>
      until(
        `live modification to ${wanted} of ${called(its)}`,
        (machines) => find(machines, its)?.options === wanted,
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
