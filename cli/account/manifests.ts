/** What a rack needs of its cluster, from infra/kubernetes/, and bringing it about. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Objects, Stored } from './objects.ts';

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.enum([
    'ClusterRole',
    'ClusterRoleBinding',
    'Role',
    'RoleBinding',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ConfigMap',
    'Lease',
  ]),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** Of everything that registering a rack creates, so that it can be found again. */
const LABELS = { 'app.kubernetes.io/managed-by': 'imds-rollout' };

function load(file: string, replaced: Record<string, string> = {}): Manifest[] {
  const text = readFileSync(new URL(`../../infra/kubernetes/${file}`, import.meta.url), 'utf8');
  const filled = Object.entries(replaced).reduce((all, [word, name]) => all.replaceAll(word, name), text);
  return parseAllDocuments(filled).map((document) => {
    const manifest = manifestSchema.parse(document.toJS());
    const labels = { ...manifest.metadata.labels, ...LABELS };
    return { ...manifest, metadata: { ...manifest.metadata, labels } };
  });
}

/** The same for every rack of a cluster: what a write of the service may contain. */
export const policyManifests = (): Manifest[] => load('admission-policy.yaml');

/** The same for every rack of a cluster: what the service's groups may do. */
export const rbacManifests = (): Manifest[] => load('rbac.yaml');

export interface Names {
  nodePool: string;
  nodeClass: string;
}

/** The rack's own: its place in the ConfigMap that the policy reads, and the Lease of its class. */
export function rackManifests({ nodePool, nodeClass }: Names): { config: Manifest; lease: Manifest } {
  const [config, lease] = load('rack.yaml', { '<nodePool>': nodePool, '<nodeClass>': nodeClass });
  if (config === undefined || lease === undefined) throw new Error('rack.yaml has two documents');
  return { config, lease };
}

const listed = (manifest: Manifest | undefined, key: keyof Names): string[] => {
  const data = manifest?.['data'] as Record<string, string> | undefined;
  return (data?.[key] ?? '').split(',').filter((name) => name !== '');
};

/** The ConfigMap with the names of all racks of the cluster. */
export function configOf(racks: readonly Names[]): Manifest {
  const all = (key: keyof Names): string => [...new Set(racks.map((names) => names[key]))].sort().join(',');
  return rackManifests({ nodePool: all('nodePool'), nodeClass: all('nodeClass') }).config;
}

/** What a ConfigMap says. */
export const namesIn = (config: Manifest | undefined): { nodePools: string[]; nodeClasses: string[] } => ({
  nodePools: listed(config, 'nodePool'),
  nodeClasses: listed(config, 'nodeClass'),
});

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

/** Makes the cluster's object what the manifest says; returns how it was. */
export async function ensure(objects: Objects, manifest: Manifest, dryRun: boolean): Promise<Found> {
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
