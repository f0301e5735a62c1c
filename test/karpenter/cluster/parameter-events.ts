/**
 * The events that Parameter Store sends, of which moto sends none: parameters are read every second, and what has
 * changed since is told. Of several changes of one parameter within a second one is told, as EventBridge may lose some.
 */
import { paginateGetParametersByPath, SSMClient } from '@aws-sdk/client-ssm';
import { setTimeout as pause } from 'node:timers/promises';
import type { ParameterChange } from '../../../simulator/account/parameter-store.ts';

const EVERY_MS = 1000;

/** A version begins at 1 again after a delete; the time does not. */
interface Seen {
  version: string;
  type: ParameterChange['type'];
}

export interface ParameterEvents extends AsyncDisposable {
  /** What kept it from looking, where something did. */
  trouble(): string | undefined;
}

/** Tells of every change below the prefix from now on. */
export async function watchParameters(
  prefix: string,
  tell: (change: ParameterChange) => void,
): Promise<ParameterEvents> {
  const ssm = new SSMClient({});
  const look = async (): Promise<Map<string, Seen>> => {
    const found = new Map<string, Seen>();
    const pages = paginateGetParametersByPath({ client: ssm }, { Path: prefix, Recursive: true });
    for await (const { Parameters = [] } of pages) {
      for (const { Name = '', Version, LastModifiedDate, Type = 'String' } of Parameters) {
        found.set(Name, { version: `${String(Version)} ${String(LastModifiedDate?.getTime())}`, type: Type });
      }
    }
    return found;
  };
  let before = await look();
  let trouble: string | undefined;
  const state = { over: false };
  const watch = async (): Promise<void> => {
    while (!state.over) {
      await pause(EVERY_MS);
      try {
        const now = await look();
        for (const change of changesBetween(before, now)) tell(change);
        before = now;
        trouble = undefined;
      } catch (error) {
        // The next look compares with the last whole one: nothing is lost by it.
        trouble = String(error);
      }
    }
  };
  const watching = watch();
  return {
    trouble: () => trouble,
    async [Symbol.asyncDispose]() {
      state.over = true;
      await watching;
    },
  };
}

/** By name: created, updated, deleted. Pure. */
function changesBetween(
  before: ReadonlyMap<string, Seen>,
  now: ReadonlyMap<string, Seen>,
): ParameterChange[] {
  const changed = [...now].flatMap(([name, { version, type }]): ParameterChange[] => {
    const was = before.get(name);
    if (was?.version === version) return [];
    return [{ name, operation: was === undefined ? 'Create' : 'Update', type }];
  });
  const deleted = [...before]
    .filter(([name]) => !now.has(name))
    .map(([name, { type }]): ParameterChange => ({ name, operation: 'Delete', type }));
  return [...changed, ...deleted];
}
