/** Giving options back: after a clear nothing of ours is left on the class, so the owner's next apply meets nobody. */
import type { Ground } from './ground.ts';
import type { ManagedFieldsEntry, MergePatch } from './kubernetes.ts';
import { FIELD_MANAGER, GENERATION_ANNOTATION, ROLLOUT_ANNOTATION } from './naming.ts';
import type { Option } from './options.ts';

const OURS = [GENERATION_ANNOTATION, ROLLOUT_ANNOTATION];

/**
 * Takes the restored options out of our entries in managedFields, which the API server keeps as a patch of them says,
 * and our annotations off the class once nothing is owned any more. Writes nothing where nothing of it is left.
 */
export async function handBack(
  { cluster, nodeClass }: Pick<Ground, 'cluster' | 'nodeClass'>,
  restored: readonly Option[],
  ownsMore: boolean,
): Promise<void> {
  const patch = handBackPatch(
    (await cluster.get('EC2NodeClass', nodeClass.metadata.name)) ?? nodeClass,
    restored,
    ownsMore,
  );
  if (patch !== undefined) await cluster.patch('EC2NodeClass', nodeClass.metadata.name, patch);
}

function handBackPatch(
  { metadata }: Ground['nodeClass'],
  restored: readonly Option[],
  ownsMore: boolean,
): MergePatch | undefined {
  const annotations = ownsMore ? [] : OURS.filter((key) => metadata.annotations?.[key] !== undefined);
  const paths = [
    ...restored.map((option) => ['f:spec', 'f:metadataOptions', `f:${option}`]),
    ...(ownsMore ? [] : OURS.map((key) => ['f:metadata', 'f:annotations', `f:${key}`])),
  ];
  const before = metadata.managedFields ?? [];
  const after = before
    .map((entry) => (entry.manager === FIELD_MANAGER ? without(entry, paths) : entry))
    .filter((entry) => entry !== undefined);
  if (annotations.length === 0 && JSON.stringify(before) === JSON.stringify(after)) return undefined;
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      ...(annotations.length > 0 && {
        annotations: Object.fromEntries(annotations.map((key) => [key, null])),
      }),
      managedFields: after.map((entry) => ({ ...entry, fieldsV1: entry.fieldsV1 as MergePatch })),
    },
  };
}

function without(entry: ManagedFieldsEntry, paths: readonly string[][]): ManagedFieldsEntry | undefined {
  const fieldsV1 = paths.reduce<Record<string, unknown>>(
    (tree, path) => prune(tree, path) ?? {},
    entry.fieldsV1,
  );
  return Object.keys(fieldsV1).length === 0 ? undefined : { ...entry, fieldsV1 };
}

/** The tree without one leaf, and without the branches that it leaves empty (`.` is the branch's own mark). */
function prune(
  tree: Record<string, unknown>,
  [key, ...rest]: readonly string[],
): Record<string, unknown> | undefined {
  if (key === undefined || !Object.hasOwn(tree, key)) return tree;
  const { [key]: branch, ...others } = tree;
  const pruned = rest.length === 0 ? undefined : prune(branch as Record<string, unknown>, rest);
  const left = pruned === undefined ? others : { ...others, [key]: pruned };
  return Object.keys(left).every((each) => each === '.') ? undefined : left;
}
