/**
 * Presigned GetCallerIdentity: whoever has one can let STS say who made it, and nothing else. EKS's tokens are such, and
 * so are the proofs of identity of an approval.
 */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

type Credentials = ConstructorParameters<typeof SignatureV4>[0]['credentials'];

export interface Signer {
  region: string;
  credentials: Credentials;
}

/** STS of the Region itself. */
export const stsHost = (region: string): string =>
  `sts.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;

/** Signed with a header, which whoever sends it to STS has to know. */
export async function presignCallerIdentity(
  { region, credentials }: Signer,
  header: { name: string; value: string },
  { expiresIn, now }: { expiresIn: number; now: Date },
): Promise<URL> {
  const signer = new SignatureV4({ region, credentials, service: 'sts', sha256: Sha256 });
  const hostname = stsHost(region);
  const { path, query = {} } = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
      headers: { host: hostname, [header.name]: header.value },
    },
    // A date that is not a whole second is signed as one.
    { expiresIn, signingDate: now },
  );
  const url = new URL(path, `https://${hostname}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}
