/** Parameter Store below the racks' prefix. */
import {
  paginateGetParameterHistory,
  paginateGetParametersByPath,
  type Parameter,
  type ParameterHistory,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { NotFoundError, RolloutError } from '../rollout/errors.ts';
import type { Parameters, StoredParameter } from '../rollout/ports.ts';
import { calling } from './aws-errors.ts';

/** As much as one page may have: GetParametersByPath 10, GetParameterHistory 50. */
const PAGE = 10;
const HISTORY_PAGE = 50;

/** `prefix` begins and ends with `/`, e.g. `/racks/`. */
export function createParameters(client: SSMClient, prefix: string): Parameters {
  return {
    list: (rack) => {
      const path = `${prefix}${rack}`;
      return calling('ssm:GetParametersByPath', path, async () => {
        const found: StoredParameter[] = [];
        // Pages may be empty and go on all the same: the paginator stops where no token is left, and only there.
        const pages = paginateGetParametersByPath(
          { client, pageSize: PAGE },
          { Path: path, Recursive: false, WithDecryption: false },
        );
        for await (const { Parameters: page = [] } of pages) {
          for (const parameter of page) found.push(stored(parameter.Name?.slice(path.length + 1), parameter));
        }
        return found.sort((one, other) => (one.key < other.key ? -1 : 1));
      });
    },
    history: async (rack, key) => {
      const name = `${prefix}${rack}/${key}`;
      try {
        return await calling('ssm:GetParameterHistory', name, async () => {
          const versions: StoredParameter[] = [];
          const pages = paginateGetParameterHistory(
            { client, pageSize: HISTORY_PAGE },
            { Name: name, WithDecryption: false },
          );
          for await (const { Parameters: page = [] } of pages) {
            for (const version of page) versions.push(stored(key, version));
          }
          return versions.sort((one, other) => one.version - other.version);
        });
      } catch (error) {
        if (error instanceof NotFoundError) return [];
        throw error;
      }
    },
  };
}

function stored(key: string | undefined, parameter: Parameter & ParameterHistory): StoredParameter {
  const { Value, Type, Version, LastModifiedDate, LastModifiedUser } = parameter;
  if (
    key === undefined ||
    Value === undefined ||
    Type === undefined ||
    Version === undefined ||
    !LastModifiedDate
  ) {
    throw new RolloutError(
      `Parameter Store's answer about ${String(parameter.Name)} lacks its value, type or date`,
    );
  }
  return {
    key,
    value: Value,
    type: Type,
    version: Version,
    lastModifiedDate: LastModifiedDate.toISOString(),
    ...(LastModifiedUser !== undefined && { lastModifiedUser: LastModifiedUser }),
  };
}
