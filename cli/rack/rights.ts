/** What the service's groups must be allowed in a cluster, as RBAC's own manifests say it, and whether they are. */
import pMap from 'p-map';
import { z } from 'zod';
import type { Manifest } from '../account/manifest.ts';
import { rbacManifests } from '../account/manifests.ts';
import type { Action, Objects } from '../account/objects.ts';

const roleSchema = z.object({
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});
const bindingSchema = z.object({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ name: z.string() })),
});

export interface Right extends Action {
  subject: string;
}

/** Every verb on every resource, by group. */
export function rightsNeeded(): Right[] {
  const manifests = rbacManifests();
  return manifests
    .filter(({ kind }) => kind.endsWith('RoleBinding'))
    .flatMap((binding) => {
      const { roleRef, subjects } = bindingSchema.parse(binding);
      const role = manifests.find(
        ({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name,
      );
      return role === undefined
        ? []
        : subjects.flatMap(({ name }) => actionsOf(role).map((action) => ({ subject: name, ...action })));
    });
}

function actionsOf(role: Manifest): Action[] {
  const { namespace } = role.metadata;
  return roleSchema
    .parse(role)
    .rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => ({ verb, group, resource, ...(namespace !== undefined && { namespace }) })),
        ),
      ),
    );
}

/** What of it RBAC would not let the groups do, in words. */
export async function rightsMissing(objects: Objects): Promise<string[]> {
  const asked = await pMap(
    rightsNeeded(),
    async (right) => ({ right, allowed: await objects.mayDo([right.subject], right) }),
    { concurrency: 10 },
  );
  return asked
    .filter(({ allowed }) => !allowed)
    .map(({ right: { subject, verb, group, resource, namespace } }) => {
      const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
      return `${subject} may not ${verb} ${resource}${group === '' ? '' : `.${group}`}${where}`;
    });
}
