/** Whose credentials a pod gets, by what EKS wrote into it and by what is known of its service account. */
import { expect, it } from 'vitest';
import { credentialsOf, type Identities } from '../../rollout/credentials.ts';
import type { Pod, ServiceAccount } from '../../rollout/kubernetes.ts';

const meta = (name: string) => ({
  name,
  namespace: 'tools',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-03-02T09:00:00Z',
});

const pod = (environment: Record<string, string> = {}): Pod => ({
  kind: 'Pod',
  metadata: meta('web'),
  spec: {
    serviceAccountName: 'web',
    containers: [
      { name: 'main', env: Object.entries(environment).map(([name, value]) => ({ name, value })) },
    ],
  },
});

const account = (role?: string): ServiceAccount => ({
  kind: 'ServiceAccount',
  metadata: { ...meta('web'), ...(role && { annotations: { 'eks.amazonaws.com/role-arn': role } }) },
});

const ROLE = 'arn:aws:iam::123456789012:role/web';
const nobody: Identities = { serviceAccounts: [account()], associations: [] };

it.each<[string, Pod, Identities, object]>([
  [
    'IRSA, by what the webhook wrote',
    pod({ AWS_WEB_IDENTITY_TOKEN_FILE: '/t', AWS_ROLE_ARN: ROLE }),
    nobody,
    { from: 'irsa', role: ROLE },
  ],
  [
    'EKS Pod Identity',
    pod({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' }),
    nobody,
    { from: 'podIdentity' },
  ],
  [
    'keys before everything else',
    pod({ AWS_WEB_IDENTITY_TOKEN_FILE: '/t', AWS_ACCESS_KEY_ID: 'AKIA' }),
    nobody,
    { from: 'keys' },
  ],
  ['the node, where it has none', pod(), nobody, { from: 'node' }],
  [
    'the node until it is made anew, where the role was given to it afterwards',
    pod(),
    { serviceAccounts: [account(ROLE)], associations: [] },
    { from: 'node', role: ROLE, afterRestart: 'irsa' },
  ],
  [
    'the same with an association',
    pod(),
    { serviceAccounts: [account()], associations: [{ namespace: 'tools', serviceAccount: 'web' }] },
    { from: 'node', afterRestart: 'podIdentity' },
  ],
  [
    'nobody knows, where service accounts may not be read',
    pod(),
    { serviceAccounts: null, associations: [] },
    { from: 'node', afterRestart: null },
  ],
  [
    'nobody knows, where associations may not be read',
    pod(),
    { serviceAccounts: [account()], associations: null },
    { from: 'node', afterRestart: null },
  ],
  [
    'another namespace’s service account says nothing',
    pod(),
    { serviceAccounts: [], associations: [{ namespace: 'other', serviceAccount: 'web' }] },
    { from: 'node' },
  ],
])('%s', (_what, its, known, expected) => {
  expect(credentialsOf(its, known)).toEqual(expected);
});
