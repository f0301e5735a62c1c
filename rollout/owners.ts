/** Who manages the class's options, by its managedFields. Pure. */
import type { EC2NodeClass } from './kubernetes.ts';
import { FIELD_MANAGER } from './naming.ts';
import { OPTIONS, type Option } from './options.ts';

/** Who else owns the options, by manager: whose next apply may put a value back. */
export function foreignOwners(nodeClass: EC2NodeClass): Record<string, Option[]> {
  const owners: Record<string, Option[]> = {};
  for (const { manager, fieldsV1, subresource } of nodeClass.metadata.managedFields ?? []) {
    if (manager === FIELD_MANAGER || subresource === 'status') continue;
    const fields = OPTIONS.filter((option) => ownsOption(fieldsV1, option));
    if (fields.length > 0) owners[manager] = [...new Set([...(owners[manager] ?? []), ...fields])];
  }
  return owners;
}

/** The managers of at least one of the options but us, each once. */
export const managersOf = (nodeClass: EC2NodeClass, options: readonly Option[]): string[] =>
  Object.entries(foreignOwners(nodeClass))
    .filter(([, owned]) => owned.some((option) => options.includes(option)))
    .map(([manager]) => manager);

/** The options that nobody has taken over since we wrote them. */
export const stillOurs = (nodeClass: EC2NodeClass): Option[] =>
  OPTIONS.filter((option) =>
    (nodeClass.metadata.managedFields ?? []).some(
      ({ manager, fieldsV1 }) => manager === FIELD_MANAGER && ownsOption(fieldsV1, option),
    ),
  );

/** Whether a managedFields entry's tree contains spec.metadataOptions.<option>. */
function ownsOption(fieldsV1: Record<string, unknown>, option: Option): boolean {
  const path = ['f:spec', 'f:metadataOptions', `f:${option}`];
  let at: unknown = fieldsV1;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}
