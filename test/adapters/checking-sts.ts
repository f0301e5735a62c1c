/** The adapter of Identities on an STS that checks signatures, as the real one does. */
import { createIdentities } from '../../adapters/identities.ts';
import { presignCallerIdentity, type Signer } from '../../adapters/sts.ts';
import type { Clock, Identities } from '../../rollout/ports.ts';

const HEADER = 'x-imds-rollout-decision';
/** Whose the credentials are. */
export const ADA = 'arn:aws:sts::123456789012:assumed-role/platform/ada';

/** Signs the request again, as it came, and compares. */
async function isSigned(signer: Signer, url: URL, value: string): Promise<boolean> {
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const now = new Date(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  const expiresIn = Number(url.searchParams.get('X-Amz-Expires'));
  const again = await presignCallerIdentity(signer, { name: HEADER, value }, { expiresIn, now });
  return again.searchParams.get('X-Amz-Signature') === url.searchParams.get('X-Amz-Signature');
}

export const checkingSts = ({
  machine,
  clock,
  ...signer
}: Signer & { machine: string; clock: Clock }): Identities =>
  createIdentities(machine, clock, async (url, { headers }) => {
    const ok = await isSigned(signer, new URL(url), new Headers(headers).get(HEADER) ?? '');
    const result = { Account: '123456789012', Arn: ADA };
    const answer = { GetCallerIdentityResponse: { GetCallerIdentityResult: result } };
    return { ok, status: ok ? 200 : 403, json: async () => answer };
  });
