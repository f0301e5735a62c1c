/** What a rack needs of its cluster, from infra/kubernetes/, and bringing it about. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ConflictError } from '../../rollout/errors.ts';
import { LABELS, manifestSchema, type Manifest } from './manifest.ts';
import type { Objects, Stored } from './objects.ts';

function load(file: string, replaced: Record<string, string> = {}): Manifest[] {
  const text = readFileSync(new URL(`../../infra/kubernetes/${file}`, import.meta.url), 'utf8');
  const filled = Object.entries(replaced).reduce((all, [word, name]) => all.replaceAll(word, name), text);
  return parseAllDocuments(filled).map((document) => {
    const manifest = manifestSchema.parse(document.toJS());
    const labels = { ...manifest.metadata.labels, ...LABELS };
    return { ...manifest, metadata: { ...manifest.metadata, labels } };
  });
}

export interface Names {
  nodePool: string;
  nodeClass: string;
}

/** What a write of the service may contain, and whose pools and classes: one policy for all racks of a cluster. */
export function policyManifests(racks: readonly Names[]): Manifest[] {
  const all = (key: keyof Names): string => [...new Set(racks.map((names) => names[key]))].sort().join(',');
  return load('admission-policy.yaml', { '<nodePool>': all('nodePool'), '<nodeClass>': all('nodeClass') });
}

/** The same for every rack of a cluster: what the service's groups may do. */
export const rbacManifests = (): Manifest[] => load('rbac.yaml');

/** The rack's own. */
export const leaseManifests = (nodeClass: string): Manifest[] =>
  load('rack.yaml', { '<nodeClass>': nodeClass });

export const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;

export type Found = 'same' | 'absent' | 'different';

/**
 * How the cluster's object stands to the manifest. The server itself says what it would make of the manifest, its
 * defaults included, so that only real differences count.
 */
export async function compare(
  objects: Objects,
  manifest: Manifest,
): Promise<{ found: Found; stored?: Stored; wanted: Manifest }> {
  const stored = await objects.get(manifest);
  if (stored === undefined) {
    await objects.create(manifest, { dryRun: true });
    return { found: 'absent', wanted: manifest };
  }
  const wanted = over(stored, manifest);
  // A Lease's spec is the rollouts': what counts is that it is there.
  if (manifest.kind === 'Lease') return { found: 'same', stored, wanted };
  if (!isDeepStrictEqual(stored['roleRef'], manifest['roleRef'])) {
    return { found: 'different', stored, wanted };
  }
  const would = await objects.replace(wanted, { dryRun: true });
  return { found: isDeepStrictEqual(content(would), content(stored)) ? 'same' : 'different', stored, wanted };
}

/** Whoever registers another rack at the same time writes the same objects: so often each is looked at anew. */
const TRIES = 5;

/** Makes the cluster's object what the manifest says; returns how it was, at the last look. */
export async function ensure(objects: Objects, manifest: Manifest, dryRun: boolean): Promise<Found> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ensureAsRead(objects, manifest, dryRun);
    } catch (error) {
      if (!(error instanceof ConflictError) || tried === TRIES) throw error;
    }
  }
}

async function ensureAsRead(objects: Objects, manifest: Manifest, dryRun: boolean): Promise<Found> {
  const { found, stored, wanted } = await compare(objects, manifest);
  if (dryRun || found === 'same') return found;
  if (stored === undefined) await objects.create(manifest);
  else if (isDeepStrictEqual(stored['roleRef'], manifest['roleRef'])) await objects.replace(wanted);
  else {
    // What a binding refers to cannot be changed.
    await objects.remove(stored);
    await objects.create(manifest);
  }
  return found;
}

/** What others added to the object's metadata stays. */
function over(stored: Stored, manifest: Manifest): Manifest {
  const { managedFields: _, ...metadata } = stored.metadata;
  const labels = { ...metadata.labels, ...manifest.metadata.labels };
  return { ...manifest, metadata: { ...metadata, labels } };
}

/** Without what the server counts and notes by itself. */
function content({ metadata, status: _, ...rest }: Manifest): unknown {
  return { ...rest, labels: metadata.labels, annotations: metadata.annotations };
}
