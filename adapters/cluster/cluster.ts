/** The port `Cluster` on one API server. */
import { randomUUID } from 'node:crypto';
import { NotFoundError } from '../../rollout/errors.ts';
import type { Event, Kind, ObjectsByKind } from '../../rollout/kubernetes.ts';
import { FIELD_MANAGER } from '../../rollout/naming.ts';
import type { Cluster, ClusterEvent, Clock } from '../../rollout/ports.ts';
import type { ApiClient } from './api-client.ts';
import { apiVersion, pathOf, resources, wordFor } from './resources.ts';

/** As kubectl's and client-go's pagers do. */
const PAGE = '500';

/** Merge patches (RFC 7396): server-side apply would give a field that is left out back to the CRD's default. */
const MERGE_PATCH = 'application/merge-patch+json';

interface List {
  metadata?: { continue?: string };
  items: object[];
}

export function createCluster(api: ApiClient, clock: Clock): Cluster {
  async function list<K extends Kind>(kind: K, selector?: string): Promise<ObjectsByKind[K][]> {
    const resource = resources[kind];
    const fieldSelector = selector ?? resource.fieldSelector;
    const found: ObjectsByKind[K][] = [];
    let token: string | undefined;
    do {
      const page = (await api({
        verb: 'list',
        resource: wordFor(resource),
        method: 'GET',
        path: pathOf(resource),
        query: {
          limit: PAGE,
          ...(fieldSelector !== undefined && { fieldSelector }),
          ...(token !== undefined && { continue: token }),
        },
      })) as List;
      for (const item of page.items) found.push(asRead(kind, item));
      token = page.metadata?.continue;
    } while (token !== undefined && token !== '');
    return found;
  }

  async function get<K extends Kind>(kind: K, name: string): Promise<ObjectsByKind[K] | undefined> {
    const resource = resources[kind];
    // By name alone a namespaced object is found only by looking through all namespaces.
    if (resource.namespace === 'any') return (await list(kind, `metadata.name=${name}`))[0];
    try {
      const object = await api({
        verb: 'get',
        resource: wordFor(resource),
        name,
        method: 'GET',
        path: `${pathOf(resource)}/${encodeURIComponent(name)}`,
      });
      return asRead(kind, object as object);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  return {
    get,
    list: (kind) => list(kind),
    finishedPods: () => list('Pod', 'status.phase=Succeeded'),
    failedPods: (node) => list('Pod', `status.phase=Failed,spec.nodeName=${node}`),
    patch: async (kind, name, patch) => {
      const resource = resources[kind];
      const object = await api({
        verb: 'patch',
        resource: wordFor(resource),
        name,
        method: 'PATCH',
        path: `${pathOf(resource)}/${encodeURIComponent(name)}`,
        query: { fieldManager: FIELD_MANAGER, fieldValidation: 'Strict' },
        contentType: MERGE_PATCH,
        body: patch,
      });
      return asRead(kind, object as object);
    },
    emit: async (event) => {
      await api({
        verb: 'create',
        resource: wordFor(resources.Event),
        name: event.reason,
        method: 'POST',
        path: '/api/v1/namespaces/default/events',
        query: { fieldManager: FIELD_MANAGER },
        body: written(event, clock.now()),
      });
    },
  };
}

/** The items of a list of Kubernetes' own kinds do not say what they are. */
function asRead<K extends Kind>(kind: K, object: object): ObjectsByKind[K] {
  // The one place where the server's words become the domain's types: rollout/kubernetes.ts follows them.
  const read = { ...object, kind } as unknown as ObjectsByKind[K];
  return read.kind === 'Event' ? (withTime(read) as ObjectsByKind[K]) : read;
}

/** Events of the newer API (the scheduler's) leave lastTimestamp null and say when in eventTime. */
function withTime(event: Event & { eventTime?: string | null; lastTimestamp?: string | null }): Event {
  const { eventTime, lastTimestamp, ...rest } = event;
  const at = lastTimestamp ?? eventTime ?? undefined;
  return { ...rest, ...(at !== undefined && { lastTimestamp: at }) };
}

function written({ type, reason, message, regarding }: ClusterEvent, now: Date): object {
  const resource = resources[regarding.kind];
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: 'default', name: `${regarding.name}.${randomUUID().slice(0, 13)}` },
    type,
    reason,
    message,
    involvedObject: {
      ...regarding,
      apiVersion: apiVersion(resource),
      ...(resource.namespace === 'default' && { namespace: 'default' }),
    },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
    source: { component: FIELD_MANAGER },
    reportingComponent: FIELD_MANAGER,
  };
}
