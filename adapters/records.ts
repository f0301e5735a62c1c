/**
 * The service's memory in Parameter Store, under its own prefix: `<prefix><rack>/registration` and
 * `<prefix><rack>/record`, each JSON in a standard parameter (at most 4 KB).
 */
import {
  GetParameterCommand,
  paginateGetParametersByPath,
  PutParameterCommand,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { NotFoundError } from '../rollout/errors.ts';
import type { Records, Registration } from '../rollout/ports.ts';
import { emptyRecord } from '../rollout/record.ts';
import { readRecord, readRegistration } from '../rollout/stored.ts';
import { calling } from './aws-errors.ts';

const REGISTRATION = '/registration';

/** `prefix` begins and ends with `/`, e.g. `/imds-rollout/racks/`. */
export function createRecords(client: SSMClient, prefix: string): Records {
  const recordName = (rack: string): string => `${prefix}${rack}/record`;
  return {
    registrations: () =>
      calling('ssm:GetParametersByPath', prefix, async () => {
        const found: Registration[] = [];
        const pages = paginateGetParametersByPath(
          { client, pageSize: 10 },
          // A path is given without its last slash, the root alone has one.
          { Path: prefix.slice(0, -1), Recursive: true, WithDecryption: false },
        );
        for await (const { Parameters: page = [] } of pages) {
          for (const { Name = '', Value } of page) {
            if (Name.endsWith(REGISTRATION)) found.push(readRegistration(Name, Value));
          }
        }
        return found.sort((one, other) => (one.rack < other.rack ? -1 : 1));
      }),
    read: async (rack) => {
      const name = recordName(rack);
      try {
        const { Parameter } = await calling('ssm:GetParameter', name, () =>
          client.send(new GetParameterCommand({ Name: name, WithDecryption: false })),
        );
        return readRecord(name, Parameter?.Value);
      } catch (error) {
        if (error instanceof NotFoundError) return structuredClone(emptyRecord);
        throw error;
      }
    },
    write: async (rack, record) => {
      const name = recordName(rack);
      await calling('ssm:PutParameter', name, () =>
        client.send(
          new PutParameterCommand({
            Name: name,
            Type: 'String',
            Overwrite: true,
            Value: JSON.stringify(record),
          }),
        ),
      );
    },
  };
}
