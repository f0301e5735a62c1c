/** What a person is asked to approve, in words. */
import { approveCommand, changesInWords, type Approval } from '../../rollout/approval.ts';
import { bold, notable } from './style.ts';

type Awaiting = NonNullable<Approval['awaiting']>;

/** Everything that an approval is about. */
export function questionText(asked: Awaiting): string {
  const { hash, execution, changes, looser, strategy, owners, why, askedAt, until } = asked;
  return [
    `${bold(hash)}: ${execution} waits for approval since ${askedAt}, until ${until}`,
    `Class ${asked.class}: ${changesInWords({ changes, looser })}`,
    `Why a person is asked: ${why}`,
    `Strategy: ${strategy}`,
    ...(owners.length > 0 ? [`Managed by others: ${owners.join('; ')}`] : []),
    'Nodes and Builds that come and go do not change it: imds-rollout plan says what would happen to which.',
  ].join('\n');
}

/** One line for who looks at a rack. */
export const awaitsText = (rack: string, asked: Awaiting): string =>
  notable(`Awaits approval: ${changesInWords(asked)}. Type: ${approveCommand(rack, asked.hash)}`);
