/** An API server in memory behind HTTPS: whole objects by path, dry runs, preconditions. RBAC's answer is the test's. */
import { apply } from 'tiny-merge-patch';
import { createAuthority } from '../adapters/authority.ts';
import {
  startApiServer,
  type Answer,
  type Asked,
  type LocalApiServer,
} from '../adapters/local-api-server.ts';
import { createApiClient, type ApiClient } from '../../adapters/cluster/api-client.ts';

interface Stored {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string };
}

export interface KubeServer extends AsyncDisposable {
  api: ApiClient;
  server: LocalApiServer;
  /** As EKS gives it. */
  certificateAuthority: string;
  objects: Map<string, Stored>;
  /** Answers in the place of what is stored, where it answers at all. */
  instead: { answer?: (asked: Asked) => Answer | undefined };
}

const status = (code: number, reason: string): Answer => ({
  status: code,
  body: { kind: 'Status', code, reason, message: reason },
});

export async function startKubeServer(): Promise<KubeServer> {
  const objects = new Map<string, Stored>();
  const instead: KubeServer['instead'] = {};
  let versions = 0;
  const store = (path: string, object: Stored, dryRun: boolean): Answer => {
    const stored = withDefaults({
      ...object,
      metadata: {
        ...object.metadata,
        uid: objects.get(path)?.metadata.uid ?? `uid-${String(versions)}`,
        resourceVersion: dryRun
          ? (objects.get(path)?.metadata.resourceVersion ?? '')
          : String((versions += 1)),
      },
    });
    if (!dryRun) objects.set(path, stored);
    return { body: stored };
  };
  const answer = (asked: Asked): Answer => {
    const other = instead.answer?.(asked);
    if (other !== undefined) return other;
    const { method, query, body } = asked;
    const path = asked.path.replace(/\/status$/, '');
    const dryRun = query['dryRun'] === 'All';
    const found = objects.get(path);
    const given = body as Stored;
    switch (method) {
      case 'GET':
        if (found !== undefined) return { body: found };
        return isCollection(path) ? { body: { items: itemsOf(objects, path) } } : status(404, 'NotFound');
      case 'POST': {
        if (path.endsWith('subjectaccessreviews')) return { body: { status: { allowed: isBound(objects) } } };
        const at = `${path}/${given.metadata.name}`;
        return objects.has(at) ? status(409, 'AlreadyExists') : store(at, given, dryRun);
      }
      case 'PUT':
      case 'PATCH': {
        if (found === undefined) return status(404, 'NotFound');
        const version = (given as Partial<Stored>).metadata?.resourceVersion ?? '';
        if (version !== '' && version !== found.metadata.resourceVersion) return status(409, 'Conflict');
        return store(
          path,
          method === 'PUT' ? given : (apply<unknown, unknown>(found, given) as Stored),
          dryRun,
        );
      }
      default: {
        const { preconditions } = (body ?? {}) as { preconditions?: { resourceVersion?: string } };
        if (found === undefined) return status(404, 'NotFound');
        if (![undefined, found.metadata.resourceVersion].includes(preconditions?.resourceVersion))
          return status(409, 'Conflict');
        objects.delete(path);
        return { body: {} };
      }
    }
  };
  const authority = await createAuthority('kubernetes');
  const server = await startApiServer(authority, answer);
  const { certificateAuthority } = authority;
  const api = createApiClient({
    name: 'demo',
    endpoint: server.endpoint,
    certificateAuthority,
    token: async () => 'token',
  });
  return {
    api,
    server,
    certificateAuthority,
    objects,
    instead,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A name comes after the plural; of what a test asks, no object is called as a plural is. */
const isCollection = (path: string): boolean =>
  /\/(nodepools|ec2nodeclasses|nodeclaims|nodes|pods|events|leases|deployments|poddisruptionbudgets)$/.test(
    path,
  );

function itemsOf(objects: ReadonlyMap<string, Stored>, path: string): Stored[] {
  const plural = path.slice(path.lastIndexOf('/'));
  return [...objects].filter(([at]) => at.includes(`${plural}/`)).map(([, object]) => object);
}

const isBound = (objects: ReadonlyMap<string, Stored>): boolean =>
  [...objects.values()].some(({ kind }) => kind === 'ClusterRoleBinding');

/** The real server fills in what the manifest leaves out. */
function withDefaults(object: Stored & { spec?: { matchConstraints?: object } }): Stored {
  if (object.kind !== 'ValidatingAdmissionPolicy') return object;
  const matchConstraints = { matchPolicy: 'Equivalent', ...object.spec?.matchConstraints };
  return { ...object, spec: { ...object.spec, matchConstraints } } as Stored;
}
