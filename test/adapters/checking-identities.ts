/** The adapter of Identities on an STS that checks signatures, as the real one does. */
import { createIdentities, proveIdentity } from '../../adapters/identities.ts';
import { presignCallerIdentity } from '../../adapters/sts.ts';
import type { IdentitiesSubject } from '../contract/identities.ts';

const MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
const HEADER = 'x-imds-rollout-decision';
const arn = 'arn:aws:sts::123456789012:assumed-role/platform/ada';
const signer = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' },
};

/** Signs the request again, as it came, and compares. */
async function isSigned(url: URL, value: string): Promise<boolean> {
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const now = new Date(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  const expiresIn = Number(url.searchParams.get('X-Amz-Expires'));
  const again = await presignCallerIdentity(signer, { name: HEADER, value }, { expiresIn, now });
  return again.searchParams.get('X-Amz-Signature') === url.searchParams.get('X-Amz-Signature');
}

export async function checkingIdentities(): Promise<IdentitiesSubject> {
  let now = new Date('2026-03-02T09:00:00.000Z');
  const port = createIdentities(MACHINE, { now: () => now }, async (url, { headers }) => {
    const value = new Headers(headers).get(HEADER) ?? '';
    const ok = await isSigned(new URL(url), value);
    const result = { Account: '123456789012', Arn: arn };
    const answer = { GetCallerIdentityResponse: { GetCallerIdentityResult: result } };
    return { ok, status: ok ? 200 : 403, json: async () => answer };
  });
  return {
    port,
    prove: (claim) => proveIdentity(signer, MACHINE, claim, now),
    arn,
    pass: async (milliseconds) => {
      now = new Date(now.getTime() + milliseconds);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
