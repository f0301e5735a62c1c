/** What the service would make of changed parameters: its own plan, with the parameters as they would be. */
import { changesInWords } from '../rollout/approval.ts';
import { RolloutError } from '../rollout/errors.ts';
import { propose } from '../rollout/plan.ts';
import type { StoredParameter } from '../rollout/ports.ts';
import type { Source } from './source.ts';

export type Foreseen =
  | { kind: 'accepted' }
  /** Accepted, and a rollout would wait for somebody first: why. */
  | { kind: 'awaits'; why: string }
  /** Why a rollout would end `Refused`: the class or the account. */
  | { kind: 'refused'; why: string }
  /** What it depends on could not be seen from here, or is not there yet. */
  | { kind: 'untold'; why: string };

/** Reads what a plan reads, and writes nothing. */
export async function foresee(
  { ports, rack }: Pick<Source, 'ports' | 'rack'>,
  after: readonly StoredParameter[],
): Promise<Foreseen> {
  try {
    const registered = (await ports.records.registrations()).some((each) => each.rack === rack);
    if (!registered)
      return { kind: 'untold', why: `rack ${rack} is not registered: nothing is rolled out until it is` };
    const parameters = { ...ports.parameters, list: () => Promise.resolve([...after]) };
    const proposal = await propose({ ...ports, parameters }, rack);
    if (proposal.kind === 'end')
      return proposal.outcome === 'Refused'
        ? { kind: 'refused', why: proposal.reason }
        : { kind: 'accepted' };
    const { question } = proposal;
    return question === undefined
      ? { kind: 'accepted' }
      : { kind: 'awaits', why: `${changesInWords(question)}, since ${question.why}` };
  } catch (error) {
    // Who may write parameters need not be able to see the cluster.
    if (error instanceof RolloutError)
      return { kind: 'untold', why: `not looked at the cluster: ${error.message}` };
    throw error;
  }
}
