/** The Builds of a rack, and the machines that they run on. */
import { RUNS_FOR, type Fate } from './kubelet.ts';
import type { Machine } from './machines.ts';
import { podSpec } from './objects.ts';
import { verbsOf } from './verbs.ts';
import type { Parts } from './world.ts';

export interface Builds {
  startBuild(name: string, options?: BuildOptions): Promise<void>;
  /** The Build ends in so many seconds. */
  endBuild(name: string, inSeconds: number): Promise<void>;
  /** Once the Build runs. */
  running(name: string): Promise<Fate>;
  fate(name: string): Fate | undefined;
  /** As they are now; where `since` is given, as they were at some moment after it. */
  machines(since?: number): Promise<Machine[]>;
  machineOf(build: string): Promise<Machine | undefined>;
}

interface BuildOptions {
  /** Seconds; without, it does not end. */
  runsFor?: number;
  cpu?: string;
  annotations?: Record<string, string>;
}

const PODS = '/api/v1/namespaces/default/pods';

/** `name` is that of the rack's pool and class. */
export function buildsOf(world: Parts, name: string): Builds {
  const { kubelet } = world;
  const { create, merge } = verbsOf(world.api);
  const full = (build: string): string => `${name}-${build}`;
  const machines = async (since = Date.now()): Promise<Machine[]> =>
    (await world.machines(since)).get(name) ?? [];
  return {
    machines,
    async startBuild(build, { runsFor, cpu, annotations = {} } = {}) {
      await create(PODS, {
        metadata: {
          name: full(build),
          annotations: { ...annotations, ...(runsFor !== undefined && { [RUNS_FOR]: String(runsFor) }) },
        },
        spec: { ...podSpec(name, cpu), restartPolicy: 'Never' },
      });
    },
    async endBuild(build, inSeconds) {
      const annotations = { [RUNS_FOR]: String(inSeconds) };
      await merge(`${PODS}/${full(build)}`, { metadata: { annotations } });
    },
    fate: (build) => kubelet.fates.get(full(build)),
    async running(build) {
      await world.until(`Build ${full(build)} runs`, () => kubelet.fates.has(full(build)));
      const fate = kubelet.fates.get(full(build));
      if (fate === undefined) throw new Error(`Build ${full(build)} is forgotten`);
      return fate;
    },
    async machineOf(build) {
      const node = kubelet.fates.get(full(build))?.node;
      return (await machines()).find((machine) => machine.node === node);
    },
  };
}
