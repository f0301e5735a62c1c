/** Objects of a cluster as who registers a rack writes them: whole, by path, of any kind that a manifest names. */
import { createTokens, type TokenSource } from '../../adapters/cluster/token.ts';
import { createApiClient, type ApiClient } from '../../adapters/cluster/api-client.ts';
import { NotFoundError, TransientError } from '../../rollout/errors.ts';
import type { ClusterFacts } from './access.ts';
import { LABELS, type Manifest } from './manifest.ts';

/** An object as the API server has it. */
export interface Stored extends Manifest {
  metadata: Manifest['metadata'] & { uid: string; resourceVersion: string };
}

interface WriteOptions {
  /** The server does everything but store it. */
  dryRun?: boolean;
}

export interface Objects {
  get(manifest: Manifest): Promise<Stored | undefined>;
  create(manifest: Manifest, options?: WriteOptions): Promise<Stored>;
  /** The manifest's resourceVersion, where it has one, guards it. */
  replace(manifest: Manifest, options?: WriteOptions): Promise<Stored>;
  /** Only as it was read. False where it is gone already. */
  remove(stored: Stored): Promise<boolean>;
  /** The Leases that registering racks made. */
  leasesMade(): Promise<Stored[]>;
  /** Whether somebody of the groups may do it: RBAC's own answer. */
  mayDo(groups: string[], action: Action): Promise<boolean>;
  /** Any other question to the API server. */
  read(path: string, query?: Record<string, string>): Promise<unknown>;
}

export interface Action {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
}

/** Of the person, whose writes are told apart from the service's in managedFields. */
const FIELD_MANAGER = 'imds-rollout-cli';

/** Throws TransientError where the cluster has no endpoint yet. */
export function connectObjects(facts: ClusterFacts, source: TokenSource): Objects {
  const { name, status, endpoint, certificateAuthority } = facts;
  if (endpoint === undefined || certificateAuthority === undefined) {
    throw new TransientError(`cluster ${name} is ${status}: it has no endpoint yet`);
  }
  return createObjects(
    createApiClient({ name, endpoint, certificateAuthority, token: createTokens(source, name) }),
  );
}

export function createObjects(api: ApiClient): Objects {
  const write = { fieldManager: FIELD_MANAGER, fieldValidation: 'Strict' };
  const dry = ({ dryRun = false }: WriteOptions = {}) => ({ ...write, ...(dryRun && { dryRun: 'All' }) });
  return {
    get: async (manifest) => {
      try {
        return (await api({
          verb: 'get',
          ...wordsFor(manifest),
          method: 'GET',
          path: pathOf(manifest),
        })) as Stored;
      } catch (error) {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      }
    },
    create: async (manifest, options) =>
      (await api({
        verb: 'create',
        ...wordsFor(manifest),
        method: 'POST',
        path: collectionOf(manifest),
        query: dry(options),
        body: manifest,
      })) as Stored,
    replace: async (manifest, options) =>
      (await api({
        verb: 'update',
        ...wordsFor(manifest),
        method: 'PUT',
        path: pathOf(manifest),
        query: dry(options),
        body: manifest,
      })) as Stored,
    remove: async (stored) => {
      const { uid, resourceVersion } = stored.metadata;
      try {
        await api({
          verb: 'delete',
          ...wordsFor(stored),
          method: 'DELETE',
          path: pathOf(stored),
          body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } },
        });
        return true;
      } catch (error) {
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    },
    leasesMade: async () => {
      const metadata = { name: '', namespace: 'default' };
      const { items } = (await api({
        verb: 'list',
        resource: PLURALS.Lease,
        method: 'GET',
        path: collectionOf({ ...LEASE, metadata }),
        query: {
          labelSelector: Object.entries(LABELS)
            .map((label) => label.join('='))
            .join(','),
        },
      })) as { items: Stored[] };
      // Items of a list do not say what they are.
      return items.map((item) => ({ ...item, ...LEASE }));
    },
    mayDo: async (groups, { verb, group, resource, namespace }) => {
      const answer = (await api({
        verb: 'create',
        resource: 'subjectaccessreviews.authorization.k8s.io',
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            user: 'imds-rollout',
            groups,
            resourceAttributes: { verb, group, resource, ...(namespace !== undefined && { namespace }) },
          },
        },
      })) as { status?: { allowed?: boolean } };
      return answer.status?.allowed === true;
    },
    read: (path, query = {}) => api({ verb: 'get', resource: path, method: 'GET', path, query }),
  };
}

const PLURALS: Record<Manifest['kind'], string> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
  Lease: 'leases',
};

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

const wordsFor = ({ kind, metadata }: Manifest) => ({ resource: PLURALS[kind], name: metadata.name });

function collectionOf({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${root}/${apiVersion}${scope}/${PLURALS[kind]}`;
}

const pathOf = (manifest: Manifest): string =>
  `${collectionOf(manifest)}/${encodeURIComponent(manifest.metadata.name)}`;
