/**
 * Tokens for EKS: a presigned GetCallerIdentity that the cluster's authenticator sends to STS, to learn who calls
 * (github.com/kubernetes-sigs/aws-iam-authenticator, "API Authorization from Outside a Cluster").
 */
import type { Clock } from '../../rollout/ports.ts';
import { presignCallerIdentity, type Signer } from '../sts.ts';

export interface TokenSource extends Signer {
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

async function mintToken(source: TokenSource, cluster: string, now: Date): Promise<string> {
  const header = { name: 'x-k8s-aws-id', value: cluster };
  const url = await presignCallerIdentity(source, header, { expiresIn: EXPIRES_IN_SECONDS, now });
  return `k8s-aws-v1.${Buffer.from(url.href).toString('base64url')}`;
}
