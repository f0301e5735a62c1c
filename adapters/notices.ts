/** What people are told: events on the account's default bus. */
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { Notices } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling, errorOfCode } from './aws-errors.ts';

const SOURCE = 'imds-rollout';

export const busNotices = (connection?: AwsConnection): Notices =>
  createNotices(new EventBridgeClient(awsClient(connection)));

export function createNotices(client: EventBridgeClient): Notices {
  return {
    send: ({ type, detail }) =>
      calling('events:PutEvents', type, async () => {
        const { Entries: [entry] = [], FailedEntryCount = 0 } = await client.send(
          new PutEventsCommand({
            Entries: [{ Source: SOURCE, DetailType: type, Detail: JSON.stringify(detail) }],
          }),
        );
        // PutEvents succeeds as a call also where it took nothing.
        if (FailedEntryCount > 0) {
          throw errorOfCode(
            entry?.ErrorCode ?? 'InternalFailure',
            entry?.ErrorMessage ?? 'the event was not taken',
          );
        }
      }),
  };
}
