/**
 * The service's memory in Parameter Store, under its own prefix: `<prefix><rack>/registration` and
 * `<prefix><rack>/record`, each JSON in a standard parameter (at most 4 KB).
 */
import { paginateGetParametersByPath, type SSMClient } from '@aws-sdk/client-ssm';
import type { Records, Registration } from '../rollout/ports.ts';
import { emptyRecord } from '../rollout/record.ts';
import { readRecord, readRegistration } from '../rollout/stored.ts';
import { calling } from './aws-errors.ts';
import { getParameter, putParameter } from './one-parameter.ts';

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
    registration: async (rack) => {
      const name = `${prefix}${rack}${REGISTRATION}`;
      const text = await getParameter(client, name);
      return text === undefined ? undefined : readRegistration(name, text);
    },
    read: async (rack) => {
      const text = await getParameter(client, recordName(rack));
      return text === undefined ? structuredClone(emptyRecord) : readRecord(recordName(rack), text);
    },
    write: (rack, record) => putParameter(client, recordName(rack), JSON.stringify(record)),
  };
}
