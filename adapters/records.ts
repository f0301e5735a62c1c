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
import { z } from 'zod';
import { NotFoundError, RolloutError } from '../rollout/errors.ts';
import type { Records, Registration } from '../rollout/ports.ts';
import { emptyRecord, recordSchema } from '../rollout/record.ts';
import { calling } from './aws-errors.ts';

/** What is stored is not what this version wrote: acting on a guess could lose a baseline. */
export class UnreadableRecord extends RolloutError {}

const registrationSchema = z.strictObject({ rack: z.string(), cluster: z.string(), nodePool: z.string() });

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
            if (Name.endsWith(REGISTRATION)) found.push(parsed(registrationSchema, Name, Value));
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
        return parsed(recordSchema, name, Parameter?.Value);
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

function parsed<S extends z.ZodType>(schema: S, name: string, text: string | undefined): z.infer<S> {
  let json: unknown;
  try {
    json = JSON.parse(text ?? '');
  } catch (error) {
    throw new UnreadableRecord(`parameter ${name} is not JSON: ${REMEDY}`, { cause: error });
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new UnreadableRecord(`parameter ${name} cannot be read (${problems.join('; ')}): ${REMEDY}`, {
    cause: result.error,
  });
}

const REMEDY = 'put back an earlier version of it (GetParameterHistory keeps 100)';
