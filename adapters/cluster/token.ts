/**
 * Tokens for EKS: a presigned GetCallerIdentity that the cluster's authenticator sends to STS, to learn who calls
 * (github.com/kubernetes-sigs/aws-iam-authenticator, "API Authorization from Outside a Cluster").
 */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Clock } from '../../rollout/ports.ts';

type Credentials = ConstructorParameters<typeof SignatureV4>[0]['credentials'];

export interface TokenSource {
  region: string;
  credentials: Credentials;
  clock: Clock;
}

/** Accepted for 15 minutes from its date, whatever it says itself; renewed well before. */
const RENEWED_AFTER_MS = 10 * 60_000;
/** The one value that the authenticator has always let through. */
const EXPIRES_IN_SECONDS = 60;

/** A function that gives a valid token for the cluster, the same one while it is fresh. */
export function createTokens(source: TokenSource, cluster: string): () => Promise<string> {
  let minted: { at: number; token: Promise<string> } | undefined;
  return () => {
    const now = source.clock.now();
    // A Lambda may have been frozen for hours between two requests: what counts is the time of each.
    if (minted === undefined || now.getTime() - minted.at >= RENEWED_AFTER_MS) {
      const token = mintToken(source, cluster, now);
      minted = { at: now.getTime(), token };
      token.catch(() => {
        minted = undefined;
      });
    }
    return minted.token;
  };
}

async function mintToken({ region, credentials }: TokenSource, cluster: string, now: Date): Promise<string> {
  const signer = new SignatureV4({ region, credentials, service: 'sts', sha256: Sha256 });
  const hostname = `sts.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;
  const { path, query = {} } = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
      headers: { host: hostname, 'x-k8s-aws-id': cluster },
    },
    // A date that is not a whole second is signed as one.
    { expiresIn: EXPIRES_IN_SECONDS, signingDate: now },
  );
  const url = new URL(path, `https://${hostname}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return `k8s-aws-v1.${Buffer.from(url.href).toString('base64url')}`;
}
