/**
 * Who calls the cluster, found out as EKS's authenticator does: the token's presigned call is sent to STS, and whoever
 * STS says it is enters with the groups of its access entry (github.com/kubernetes-sigs/aws-iam-authenticator).
 */
import { get } from 'node:https';
import { CLUSTER } from '../karpenter/world.ts';
import { presignedCall, type Identify } from '../karpenter/neighbours.ts';

/** `sts` is the endpoint that plays STS. */
export const askingSts =
  (sts: () => string): Identify =>
  async (token, eks) => {
    const call = presignedCall(token);
    if (call?.searchParams.get('Action') !== 'GetCallerIdentity') return undefined;
    const username = await callerOf(call, sts());
    if (username === undefined) return undefined;
    // Who made a cluster is its administrator.
    if (username.endsWith(':root')) return { username, groups: ['system:masters'] };
    const groups = eks.groupsOf(roleOf(username));
    return groups && { username, groups };
  };

/** The role behind a session. */
const roleOf = (arn: string): string =>
  arn.replace(/^arn:aws:sts::(\d+):assumed-role\/([^/]+)\/.*$/, 'arn:aws:iam::$1:role/$2');

/** Undefined where STS does not accept the call, which was signed for AWS's own host and for this cluster. */
function callerOf(call: URL, sts: string): Promise<string | undefined> {
  const headers = { host: call.host, 'x-k8s-aws-id': CLUSTER };
  return new Promise((resolve, reject) => {
    // The certificate is that of whoever plays STS, not of the host that the call was signed for.
    get(`${sts}${call.pathname}${call.search}`, { headers, servername: '' }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => (text += chunk))
        .on('end', () => {
          resolve(response.statusCode === 200 ? /<Arn>([^<]+)<\/Arn>/.exec(text)?.[1] : undefined);
        });
    }).on('error', reject);
  });
}
