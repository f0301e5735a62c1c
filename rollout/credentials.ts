/** Whose AWS credentials a pod gets: its own, or the node's role through IMDS. Pure. */
import type { Pod, ServiceAccount } from './kubernetes.ts';

/** The annotation by which IRSA gives a service account a role (EKS User Guide, "Assign IAM roles to service accounts"). */
const ROLE = 'eks.amazonaws.com/role-arn';

/**
 * As the AWS SDKs look for credentials, the first that is there: keys, a web identity (IRSA), a container's (EKS Pod
 * Identity), the instance's (AWS SDKs and Tools Reference Guide, "Standardized credential providers").
 */
const SOURCES = [
  ['AWS_ACCESS_KEY_ID', 'keys'],
  ['AWS_WEB_IDENTITY_TOKEN_FILE', 'irsa'],
  ['AWS_CONTAINER_CREDENTIALS_FULL_URI', 'podIdentity'],
] as const;

export interface Credentials {
  /** As the pod runs now; `node`: it would fall through to the node's role, where it can reach IMDS. */
  from: 'keys' | 'irsa' | 'podIdentity' | 'node';
  /** Of IRSA, where the pod or its service account names it. */
  role?: string;
  /** What it gets when it is made anew: EKS gives credentials to pods as they are made. null: not known. */
  afterRestart?: 'irsa' | 'podIdentity' | null;
}

/** What is known of who gets credentials; null where it could not be read. */
export interface Identities {
  serviceAccounts: readonly ServiceAccount[] | null;
  /** Of EKS Pod Identity. */
  associations: readonly { namespace: string; serviceAccount: string }[] | null;
}

/** EKS's webhooks write into each pod how it gets credentials, so a pod that runs is asked first. */
export function credentialsOf(
  { metadata, spec }: Pick<Pod, 'metadata' | 'spec'>,
  known: Identities,
): Credentials {
  const environment = new Map(
    (spec.containers ?? []).flatMap(({ env = [] }) => env.map(({ name, value }) => [name, value] as const)),
  );
  const [, from] = SOURCES.find(([name]) => environment.has(name)) ?? [];
  if (from !== undefined) {
    const role = environment.get('AWS_ROLE_ARN');
    return { from, ...(role !== undefined && { role }) };
  }
  const namespace = metadata.namespace ?? 'default';
  const account = spec.serviceAccountName ?? 'default';
  const role = known.serviceAccounts?.find(
    ({ metadata: its }) => its.name === account && its.namespace === namespace,
  )?.metadata.annotations?.[ROLE];
  if (role !== undefined) return { from: 'node', role, afterRestart: 'irsa' };
  if (known.associations?.some((its) => its.namespace === namespace && its.serviceAccount === account))
    return { from: 'node', afterRestart: 'podIdentity' };
  return known.serviceAccounts === null || known.associations === null
    ? { from: 'node', afterRestart: null }
    : { from: 'node' };
}
