/** Who writes classes besides the product, and how they do it: what the API server notes in managedFields is its own. */
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import type { EC2NodeClass } from '../../rollout/kubernetes.ts';
import type { nodeClassOf } from './objects.ts';
import { verbsOf } from './verbs.ts';

export interface Writer {
  manager: string;
  /**
   * - `apply`: server-side apply, as Terraform's `kubernetes_manifest` and `kubectl apply --server-side` do.
   * - `update`: created, then patched by whoever computed the difference, as Helm 3 and `kubectl apply` do.
   */
  how: 'apply' | 'update';
  /** `kubectl apply` keeps what it applied in an annotation. */
  remembers?: boolean;
}

type NodeClassManifest = ReturnType<typeof nodeClassOf>;

const CLASSES = '/apis/karpenter.k8s.aws/v1/ec2nodeclasses';

/** Writes the class as the writer would, whether it is there or not; never by force. */
export async function writeClass(
  api: ApiClient,
  { manager, how, remembers = false }: Writer,
  manifest: NodeClassManifest,
): Promise<void> {
  const path = `${CLASSES}/${manifest.metadata.name}`;
  const { create, merge, apply } = verbsOf(api);
  const body = remembers ? remembering(manifest) : manifest;
  if (how === 'apply') await apply(path, body, manager);
  else if (await exists(api, path)) await merge(path, body, manager);
  else await create(CLASSES, body, manager);
}

const remembering = (manifest: NodeClassManifest) => ({
  ...manifest,
  metadata: {
    ...manifest.metadata,
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(manifest) },
  },
});

async function exists(api: ApiClient, path: string): Promise<boolean> {
  try {
    await api({ verb: 'get', resource: 'ec2nodeclasses', method: 'GET', path });
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotFoundError') return false;
    throw error;
  }
}

/** Who owns which of the two options of a class, as the API server notes it. */
export function optionOwners({ metadata }: EC2NodeClass): Record<string, string[]> {
  const owners: Record<string, string[]> = {};
  for (const { manager, fieldsV1 } of metadata.managedFields ?? []) {
    const { 'f:spec': spec } = fieldsV1 as { 'f:spec'?: { 'f:metadataOptions'?: object } };
    const fields = ['httpPutResponseHopLimit', 'httpTokens'].filter((option) =>
      Object.hasOwn(spec?.['f:metadataOptions'] ?? {}, `f:${option}`),
    );
    if (fields.length > 0) owners[manager] = fields;
  }
  return owners;
}
