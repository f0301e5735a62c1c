/** The kinds of objects that registering a rack makes. */
import { z } from 'zod';

export const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.enum([
    'ClusterRole',
    'ClusterRoleBinding',
    'Role',
    'RoleBinding',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
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
export const LABELS = { 'app.kubernetes.io/managed-by': 'imds-rollout' };
