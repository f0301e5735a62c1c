/**
 * Who approves: a presigned GetCallerIdentity, made at a person's terminal for one decision about one deployment, and
 * sent to STS by the function `approve`. Whoever gets hold of it can do nothing else with it.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InvalidError, TransientError } from '../rollout/errors.ts';
import type { Claim, Clock, Identities } from '../rollout/ports.ts';
import { presignCallerIdentity, stsHost, type Signer } from './sts.ts';

/** Signed: what the decision is, about which deployment. */
const HEADER = 'x-imds-rollout-decision';
/** Long enough for a slow network, and no longer. */
const EXPIRES_IN_SECONDS = 300;
/** How far a person's clock may be ahead. */
const CLOCK_SKEW_MS = 5 * 60_000;
const TIMEOUT_MS = 10_000;

/** What is in a query that SigV4 presigned, and nothing else. */
const PARAMETERS = [
  'Action',
  'Version',
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Security-Token',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
  'x-id',
];

const digest = (stateMachineArn: string, { rack, hash, decision, reason }: Claim): string =>
  createHash('sha256')
    .update(JSON.stringify([stateMachineArn, rack, hash, decision, reason]))
    .digest('hex');

/** Proves who decides, for one claim; valid for five minutes. */
export async function proveIdentity(
  signer: Signer,
  stateMachineArn: string,
  claim: Claim,
  now: Date,
): Promise<string> {
  const header = { name: HEADER, value: digest(stateMachineArn, claim) };
  return (await presignCallerIdentity(signer, header, { expiresIn: EXPIRES_IN_SECONDS, now })).href;
}

type Fetch = (url: string, init: RequestInit) => Promise<Pick<Response, 'status' | 'ok' | 'json'>>;

const answerSchema = z.object({
  GetCallerIdentityResponse: z.object({
    GetCallerIdentityResult: z.object({ Account: z.string(), Arn: z.string() }),
  }),
});

/** `stateMachineArn` says which deployment in which Region and account a proof has to be for. */
export function createIdentities(stateMachineArn: string, clock: Clock, send: Fetch = fetch): Identities {
  const [, , , region = '', account = ''] = stateMachineArn.split(':');
  return {
    verify: async (proof, claim) => {
      const url = checkProof(proof, region, clock.now());
      const headers = { [HEADER]: digest(stateMachineArn, claim), accept: 'application/json' };
      const { Arn, Account } = await callerOf(send, url, headers);
      if (Account !== account) {
        throw new InvalidError(
          `${Arn} is of account ${Account}; accepted is an identity of account ${account}, where the deployment is`,
        );
      }
      return Arn;
    },
  };
}

/** Refuses everything that is not GetCallerIdentity at the Region's own STS, signed with our header and still fresh. */
function checkProof(proof: string, region: string, now: Date): string {
  if (proof === '') throw new InvalidError('there is no proof of identity: nobody can be told from it');
  const url = URL.parse(proof);
  if (url === null) throw new InvalidError('the proof of identity is no URL');
  const host = stsHost(region);
  if (
    url.protocol !== 'https:' ||
    url.host !== host ||
    url.pathname !== '/' ||
    url.username !== '' ||
    url.hash !== ''
  ) {
    throw new InvalidError(`the proof of identity is for ${url.host}; accepted is https://${host}/ alone`);
  }
  const query = url.searchParams;
  const names = [...query.keys()];
  const foreign = names.find((name, index) => !PARAMETERS.includes(name) || names.indexOf(name) !== index);
  if (foreign !== undefined)
    throw new InvalidError(`the proof of identity has ${foreign} in it, which none has, or twice`);
  if (query.get('Action') !== 'GetCallerIdentity')
    throw new InvalidError('the proof of identity is for another action than GetCallerIdentity');
  const signed = query.get('X-Amz-SignedHeaders')?.split(';') ?? [];
  if (!signed.includes('host') || !signed.includes(HEADER))
    throw new InvalidError(
      `the proof of identity is not signed with ${HEADER}: it was made for something else`,
    );
  checkFresh(query, now);
  return url.href;
}

function checkFresh(query: URLSearchParams, now: Date): void {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  const at = Date.parse(
    `${String(year)}-${String(month)}-${String(day)}T${String(hour)}:${String(minute)}:${String(second)}Z`,
  );
  const lives = Number(query.get('X-Amz-Expires'));
  if (Number.isNaN(at) || !(lives > 0 && lives <= EXPIRES_IN_SECONDS)) {
    throw new InvalidError(
      `the proof of identity has no date or lives too long; accepted are ${String(EXPIRES_IN_SECONDS)} seconds`,
    );
  }
  const [from, until] = [at - CLOCK_SKEW_MS, at + lives * 1000];
  if (now.getTime() >= until) {
    throw new InvalidError(
      `the proof of identity has expired at ${new Date(until).toISOString()}: make a new one, and look at the clock of the machine`,
    );
  }
  if (now.getTime() < from) {
    throw new InvalidError(
      `the proof of identity is of ${new Date(at).toISOString()}, which is still to come: look at the clock of the machine`,
    );
  }
}

async function callerOf(send: Fetch, url: string, headers: Record<string, string>) {
  let response: Awaited<ReturnType<Fetch>>;
  try {
    // Not followed anywhere else: what another host says proves nothing.
    response = await send(url, { headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    throw new TransientError('STS did not answer to GetCallerIdentity', { cause: nameOf(error) });
  }
  if (response.status >= 500 || response.status === 429)
    throw new TransientError(`STS answered ${String(response.status)} to GetCallerIdentity`);
  if (!response.ok) {
    throw new InvalidError(
      `STS does not accept the proof of identity (${String(response.status)}): the credentials are not valid, or it was made for another decision`,
    );
  }
  const { success, data } = answerSchema.safeParse(await response.json());
  if (!success) throw new InvalidError('STS does not say whose the proof of identity is');
  return data.GetCallerIdentityResponse.GetCallerIdentityResult;
}

/** An error of fetch may have the URL in it, with which somebody else could come in its five minutes. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'Error');
