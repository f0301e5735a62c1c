/** A cluster that has one Lease and nothing else, and a workflow whose executions a test names. */
import { ConflictError } from '../../rollout/errors.ts';
import type { Lease, MergePatch } from '../../rollout/kubernetes.ts';
import { leaseName } from '../../rollout/naming.ts';
import type { Cluster, Execution, Workflow } from '../../rollout/ports.ts';
import { meta, patched } from './given.ts';

export interface FakeLease {
  cluster: Cluster;
  /** The Lease as it is; undefined where the rack was never registered. */
  lease(): Lease | undefined;
  /** Called before each patch reaches the API server: somebody may be faster. */
  onPatch: (() => Promise<unknown>) | undefined;
  patches: number;
}

export function fakeLease(exists = true): FakeLease {
  let lease: Lease | undefined = exists
    ? { kind: 'Lease', metadata: meta(leaseName('build')), spec: {} }
    : undefined;
  const fake: FakeLease = {
    lease: () => lease,
    onPatch: undefined,
    patches: 0,
    cluster: {
      get: async (kind: string, name: string) =>
        kind === 'Lease' && name === leaseName('build') ? structuredClone(lease) : undefined,
      patch: async (_kind: string, name: string, patch: MergePatch) => {
        const before = fake.onPatch;
        fake.onPatch = undefined;
        await before?.();
        const { resourceVersion } = patch['metadata'] as { resourceVersion?: string };
        if (lease === undefined || resourceVersion !== lease.metadata.resourceVersion)
          throw new ConflictError(`Lease ${name} has changed`);
        fake.patches += 1;
        lease = patched(lease, patch);
        return lease;
      },
    } as unknown as Cluster,
  };
  return fake;
}

/** A workflow with these executions and no others; `started` are the names that StartExecution was called with. */
export function fakeWorkflow(...executions: Execution[]): Workflow & { started: string[] } {
  const started: string[] = [];
  return {
    started,
    running: async () => executions.filter(({ status }) => status === 'RUNNING'),
    describe: async (name) => executions.find((each) => each.name === name),
    answer: async () => 'gone',
    answers: async () => [],
    start: async (name) => {
      started.push(name);
      const earlier = executions.find((each) => each.name === name);
      return earlier === undefined || earlier.status === 'RUNNING' ? 'started' : 'closed';
    },
  };
}
