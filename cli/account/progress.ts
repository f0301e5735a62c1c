/** Where an execution is: its state and what the last step said that it waits for. */
import { GetExecutionHistoryCommand, type HistoryEvent, type SFNClient } from '@aws-sdk/client-sfn';
import { z } from 'zod';
import { calling } from '../../adapters/aws-errors.ts';

interface Place {
  state: string;
  waitsFor: string;
}

export interface Progress {
  of(execution: string): Promise<Place>;
}

/** A round of Wait, Observe and Choice is about a dozen events; retries make it more. */
const EVENTS = 60;

const outputSchema = z.object({ waitsFor: z.string() });

export function createProgress(client: SFNClient, stateMachineArn: string): Progress {
  return {
    of: (execution) =>
      calling('states:GetExecutionHistory', execution, async () => {
        const executionArn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${execution}`;
        const { events = [] } = await client.send(
          new GetExecutionHistoryCommand({ executionArn, reverseOrder: true, maxResults: EVENTS }),
        );
        const entered = events.find(({ stateEnteredEventDetails }) => stateEnteredEventDetails !== undefined);
        return {
          state: entered?.stateEnteredEventDetails?.name ?? '',
          waitsFor: events.map(waitsForOf).find((text) => text !== undefined) ?? '',
        };
      }),
  };
}

function waitsForOf({ stateExitedEventDetails }: HistoryEvent): string | undefined {
  const text = stateExitedEventDetails?.output;
  if (text === undefined) return undefined;
  try {
    return outputSchema.safeParse(JSON.parse(text)).data?.waitsFor;
  } catch {
    // Cut off by Step Functions, which does so to what is too long.
    return undefined;
  }
}
