/**
 * STS, as far as it tells who made a proof of identity: made for one claim, worth nothing for another, and for five
 * minutes.
 */
import { InvalidError } from '../../rollout/errors.ts';
import type { Claim, Identities } from '../../rollout/ports.ts';
import type { RunningClock } from './clock.ts';
import type { SimulatedGate } from './gate.ts';

/** As long as a proof that the command makes. */
const validFor = 5 * 60_000;

interface Proof extends Claim {
  by: string;
  at: string;
}

/** What somebody's own machine makes of their credentials. */
export const proofOf = (by: string, claim: Claim, at: Date): string =>
  JSON.stringify({ by, ...claim, at: at.toISOString() });

export function createIdentities(gate: SimulatedGate, clock: RunningClock): Identities {
  return {
    verify: (proof, claim) =>
      gate.call({ api: 'sts:GetCallerIdentity', target: claim.rack }, () => {
        const signed = readProof(proof);
        if (signed === undefined)
          throw new InvalidError('there is no proof of identity: nobody can be told from it');
        const keys = ['rack', 'hash', 'decision', 'reason'] as const;
        const other = keys.find((key) => signed[key] !== claim[key]);
        if (other !== undefined) {
          throw new InvalidError(
            `the proof of identity was made for another ${other}: it counts for what it was made for alone`,
          );
        }
        if (clock.now().getTime() - Date.parse(signed.at) >= validFor)
          throw new InvalidError(`the proof of identity of ${signed.at} has expired: make a new one`);
        return signed.by;
      }),
  };
}

function readProof(proof: string): Proof | undefined {
  try {
    return JSON.parse(proof) as Proof;
  } catch {
    return undefined;
  }
}
