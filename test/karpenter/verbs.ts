/** The API server's verbs on paths, for whoever writes what a test needs and knows nothing of the product's client. */
import type { ApiClient } from '../../adapters/cluster/api-client.ts';

export interface Verbs {
  /** POST to the collection at `path`; `manager` owns what is written. */
  create: (path: string, body: object, manager?: string) => Promise<unknown>;
  /** A merge patch of the object at `path`, or of its status where that is the path. */
  merge: (path: string, body: object, manager?: string) => Promise<unknown>;
  /** Server-side apply of the object at `path`. */
  apply: (path: string, body: object, manager: string, force?: boolean) => Promise<unknown>;
  /** One object, which goes when whoever tends it has ended it. */
  remove: (path: string) => Promise<unknown>;
  /** All of a collection, at once. */
  clear: (path: string) => Promise<unknown>;
}

export const verbsOf = (api: ApiClient): Verbs => ({
  create: (path, body, manager) =>
    api({ verb: 'create', resource: path, method: 'POST', path, body, ...ownedBy(manager) }),
  merge: (path, body, manager) =>
    api({
      verb: 'patch',
      resource: path,
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body,
      ...ownedBy(manager),
    }),
  apply: (path, body, fieldManager, force = false) =>
    api({
      verb: 'apply',
      resource: path,
      method: 'PATCH',
      path,
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager, force: String(force) },
      body,
    }),
  remove: (path) => api({ verb: 'delete', resource: path, method: 'DELETE', path }),
  clear: (path) =>
    api({ verb: 'delete', resource: path, method: 'DELETE', path, query: { gracePeriodSeconds: '0' } }),
});

const ownedBy = (fieldManager: string | undefined) =>
  fieldManager === undefined ? {} : { query: { fieldManager } };
