/** Proofs that the command makes, and the adapter that tells who made them. */
import { proveIdentity } from '../../adapters/identities.ts';
import type { IdentitiesSubject } from '../contract/identities.ts';
import { ADA, checkingSts } from './checking-sts.ts';

const machine = 'arn:aws:states:eu-west-1:123456789012:stateMachine:imds-rollout';
const signer = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' },
};

export async function checkingIdentities(): Promise<IdentitiesSubject> {
  let now = new Date('2026-03-02T09:00:00.000Z');
  return {
    port: checkingSts({ ...signer, machine, clock: { now: () => now } }),
    prove: (claim) => proveIdentity(signer, machine, claim, now),
    arn: ADA,
    pass: async (milliseconds) => {
      now = new Date(now.getTime() + milliseconds);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
