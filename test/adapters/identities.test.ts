/** Proofs of identity: made for one decision about one deployment, sent to the Region's own STS and nowhere else. */
import { describe, expect, it } from 'vitest';
import { createIdentities, proveIdentity } from '../../adapters/identities.ts';
import type { Claim } from '../../rollout/ports.ts';

const NOW = new Date('2026-03-02T09:00:00.000Z');
const MACHINE = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
const signer = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' },
};
const claim: Claim = { rack: 'demo', hash: '0123456789ab', decision: 'approved', reason: 'CHG-1' };
const ARN = 'arn:aws:sts::123456789012:assumed-role/platform/ada';

interface Sent {
  url: string;
  headers: Record<string, string>;
}

function sts(answer: { status?: number; account?: string } = {}) {
  const sent: Sent[] = [];
  const { status = 200, account = '123456789012' } = answer;
  const identities = createIdentities(MACHINE, { now: () => NOW }, async (url, init) => {
    sent.push({ url, headers: init.headers as Record<string, string> });
    const result = { Account: account, Arn: ARN };
    return {
      status,
      ok: status === 200,
      json: async () => ({ GetCallerIdentityResponse: { GetCallerIdentityResult: result } }),
    };
  });
  return { identities, sent };
}

const proof = (at = NOW) => proveIdentity(signer, MACHINE, claim, at);

it('is sent to STS as it was signed, with what it is for', async () => {
  const { identities, sent } = sts();
  expect(await identities.verify(await proof(), claim)).toBe(ARN);
  const [first] = sent;
  expect(new URL(first?.url ?? '').host).toBe('sts.eu-west-1.amazonaws.com');
  expect(first?.headers['x-imds-rollout-decision']).toMatch(/^[0-9a-f]{64}$/);
});

it('has another header for every other claim, so that STS refuses it', async () => {
  const { identities, sent } = sts();
  const others: Claim[] = [
    claim,
    { ...claim, decision: 'rejected' },
    { ...claim, hash: 'ba9876543210' },
    { ...claim, rack: 'other' },
    { ...claim, reason: 'CHG-2' },
  ];
  for (const other of others) await identities.verify(await proof(), other);
  expect(new Set(sent.map(({ headers }) => headers['x-imds-rollout-decision'])).size).toBe(others.length);
});

describe('is refused without a word to anybody', () => {
  it.each<[string, (url: URL) => string, RegExp]>([
    ['nothing', () => '', /no proof of identity/],
    ['no URL', () => 'nonsense', /no URL/],
    [
      'another host',
      (url) => url.href.replace('sts.eu-west-1', 'sts.evil'),
      /accepted is https:\/\/sts\.eu-west-1/,
    ],
    ['another port', (url) => url.href.replace('.com/', '.com:8443/'), /accepted is/],
    ['plain HTTP', (url) => url.href.replace('https:', 'http:'), /accepted is/],
    ['another action', (url) => url.href.replace('GetCallerIdentity', 'AssumeRole'), /another action/],
    ['another parameter', (url) => `${url.href}&RoleArn=x`, /RoleArn/],
    ['a parameter twice', (url) => `${url.href}&Action=GetCallerIdentity`, /Action/],
    [
      'a cluster’s token',
      (url) => url.href.replace('x-imds-rollout-decision', 'x-k8s-aws-id'),
      /not signed with/,
    ],
    ['a long life', (url) => url.href.replace('X-Amz-Expires=300', 'X-Amz-Expires=604800'), /lives too long/],
  ])('%s', async (_what, change, why) => {
    const { identities, sent } = sts();
    const changed = change(new URL(await proof()));
    await expect(identities.verify(changed, claim)).rejects.toThrow(why);
    expect(sent).toEqual([]);
  });

  it.each([
    ['has expired', -301_000, /has expired/],
    ['is still to come', 301_000, /still to come/],
  ])('what %s', async (_what, offset, why) => {
    const { identities, sent } = sts();
    const late = await proof(new Date(NOW.getTime() + offset));
    await expect(identities.verify(late, claim)).rejects.toThrow(why);
    expect(sent).toEqual([]);
  });
});

it.each([
  ['STS refuses', { status: 403 }, 'InvalidError'],
  ['STS is away', { status: 503 }, 'TransientError'],
  ['it is of another account', { account: '999999999999' }, 'InvalidError'],
])('tells nobody where %s', async (_what, answer, name) => {
  const { identities } = sts(answer);
  await expect(identities.verify(await proof(), claim)).rejects.toThrow(expect.objectContaining({ name }));
});
