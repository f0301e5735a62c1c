/** What every Identities does, whoever is asked for it. */
import { describe, expect, it } from 'vitest';
import type { Claim, Identities } from '../../rollout/ports.ts';

export interface IdentitiesSubject extends AsyncDisposable {
  port: Identities;
  /** A proof for a claim, of whoever `arn` is, made now. */
  prove(claim: Claim): Promise<string>;
  arn: string;
  pass(milliseconds: number): Promise<void>;
}

const claim: Claim = { rack: 'demo', hash: '0123456789ab', decision: 'approved', reason: 'CHG-1' };
const invalid = expect.objectContaining({ name: 'InvalidError' }) as Error;
const MINUTE = 60_000;

export function describeIdentities(name: string, make: () => Promise<IdentitiesSubject>): void {
  describe(`Identities: ${name}`, () => {
    it('tell who made a proof, for the claim that it was made for', async () => {
      await using subject = await make();
      expect(await subject.port.verify(await subject.prove(claim), claim)).toBe(subject.arn);
    });

    it.each<[string, Claim]>([
      ['rack', { ...claim, rack: 'other' }],
      ['hash', { ...claim, hash: 'ba9876543210' }],
      ['decision', { ...claim, decision: 'rejected' }],
      ['reason', { ...claim, reason: 'CHG-2' }],
    ])('tell nobody for another %s', async (_what, other) => {
      await using subject = await make();
      await expect(subject.port.verify(await subject.prove(claim), other)).rejects.toThrow(invalid);
    });

    it.each(['', 'nonsense'])('tell nobody from %j', async (proof) => {
      await using subject = await make();
      await expect(subject.port.verify(proof, claim)).rejects.toThrow(invalid);
    });

    it('tell for five minutes, and nobody afterwards', async () => {
      await using subject = await make();
      const proof = await subject.prove(claim);
      await subject.pass(5 * MINUTE - 1000);
      expect(await subject.port.verify(proof, claim)).toBe(subject.arn);
      await subject.pass(1000);
      await expect(subject.port.verify(proof, claim)).rejects.toThrow(invalid);
    });
  });
}
