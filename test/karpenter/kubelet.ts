/**
 * In the place of every node's kubelet: nodes are Ready, pods that are bound to one run, a Build ends as long after
 * its start as its annotation says, and pods that are deleted are gone.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';

/** How many seconds a pod runs, from when the kubelet first sees the annotation; without it, it does not end. */
export const RUNS_FOR = 'test.imds-rollout/runs-for';

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({ nodeName: z.string().optional() }),
  status: z.object({
    phase: z.string().optional(),
    conditions: z
      .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
      .default([]),
  }),
});
type Pod = z.infer<typeof podSchema>;
const nodeSchema = z.object({ metadata: z.object({ name: z.string(), creationTimestamp: z.string() }) });

export interface Fate {
  node: string;
  startedAt: Date;
  /** Where it has ended: by itself, or by somebody who deleted it. */
  ended?: { how: 'succeeded' | 'deleted'; at: Date; why?: string };
}

export interface Kubelet extends AsyncDisposable {
  /** By the pod's name. */
  fates: ReadonlyMap<string, Fate>;
}

const EVERY_MS = 500;
/** Well below the 50 s after which the controller manager takes a node for dead. */
const HEARTBEAT_MS = 10_000;
const MERGE_PATCH = 'application/merge-patch+json';

export function startKubelet(api: ApiClient): Kubelet {
  const fates = new Map<string, Fate>();
  const heartbeats = new Map<string, number>();
  /** When a pod with an end in sight ends, by uid. */
  const ends = new Map<string, number>();
  const state = { over: false };

  const list = async <S extends z.ZodType>(path: string, item: S): Promise<z.infer<S>[]> => {
    const answer = await api({ verb: 'list', resource: path, method: 'GET', path });
    return z.object({ items: z.array(item) }).parse(answer).items;
  };
  const patchStatus = (path: string, status: object): Promise<unknown> =>
    api({
      verb: 'patch',
      resource: path,
      method: 'PATCH',
      path: `${path}/status`,
      body: { status },
      contentType: MERGE_PATCH,
    });

  const beat = async ({ metadata }: z.infer<typeof nodeSchema>): Promise<void> => {
    if (Date.now() - (heartbeats.get(metadata.name) ?? 0) < HEARTBEAT_MS) return;
    const lastHeartbeatTime = instant();
    const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
      type,
      status: type === 'Ready' ? 'True' : 'False',
      reason: 'Kubelet',
      lastHeartbeatTime,
      lastTransitionTime: metadata.creationTimestamp,
    }));
    await patchStatus(`/api/v1/nodes/${metadata.name}`, { conditions });
    heartbeats.set(metadata.name, Date.now());
  };

  const tend = async (pod: Pod): Promise<void> => {
    const { metadata, spec, status } = pod;
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    const fate = fates.get(metadata.name);
    if (spec.nodeName === undefined) return;
    if (metadata.deletionTimestamp !== undefined) {
      const why = status.conditions.find(({ type }) => type === 'DisruptionTarget')?.message;
      if (fate !== undefined)
        fate.ended ??= { how: 'deleted', at: new Date(), ...(why !== undefined && { why }) };
      await api({
        verb: 'delete',
        resource: path,
        method: 'DELETE',
        path,
        query: { gracePeriodSeconds: '0' },
      });
      return;
    }
    if (status.phase === 'Pending') {
      const ready = ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' }));
      await patchStatus(path, { phase: 'Running', conditions: [...status.conditions, ...ready] });
      fates.set(metadata.name, { node: spec.nodeName, startedAt: new Date() });
      return;
    }
    const runsFor = metadata.annotations[RUNS_FOR];
    if (status.phase !== 'Running' || runsFor === undefined) return;
    const end = ends.get(metadata.uid) ?? Date.now() + Number(runsFor) * 1000;
    ends.set(metadata.uid, end);
    if (Date.now() < end) return;
    await patchStatus(path, { phase: 'Succeeded' });
    if (fate !== undefined) fate.ended ??= { how: 'succeeded', at: new Date() };
  };

  const work = async (): Promise<void> => {
    while (!state.over) {
      // The API server may be away for a while, and things may be gone when they are reached: the next round is near.
      await Promise.allSettled([
        list('/api/v1/nodes', nodeSchema).then((nodes) => Promise.allSettled(nodes.map(beat))),
        list('/api/v1/pods', podSchema).then((pods) => Promise.allSettled(pods.map(tend))),
      ]);
      await pause(EVERY_MS);
    }
  };
  const working = work();
  return {
    fates,
    async [Symbol.asyncDispose]() {
      state.over = true;
      await working;
    },
  };
}

const instant = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
