/**
 * Parameter Store below the racks' prefix: versions that start again after a delete, dates, the last user, 100 kept
 * versions, and no empty values. What a person does is not a call of the service, and is noted in the audit only.
 */
import type { Parameters, StoredParameter } from '../../rollout/ports.ts';
import { apiError } from './api-errors.ts';
import type { SimulatedGate } from './gate.ts';
import type { RunningClock } from './clock.ts';

export interface ParameterChange {
  operation: 'Create' | 'Update' | 'Delete';
  /** The whole name: `/racks/demo/imds_http_tokens`. */
  name: string;
  type: StoredParameter['type'];
}

export interface ParameterStore {
  port: Parameters;
  /** PutParameter with Overwrite, by a person. Throws Parameter Store's own refusal of an empty or oversized value. */
  set(
    rack: string,
    key: string,
    value: string,
    how?: { type?: StoredParameter['type']; user?: string },
  ): void;
  /** DeleteParameter, by a person. Throws ParameterNotFound where there is none. */
  unset(rack: string, key: string): void;
  /** What is stored at this moment. */
  stored(rack: string): readonly StoredParameter[];
  /** The values at this moment, by key. */
  values(rack: string): Record<string, string>;
  onChange(listener: (change: ParameterChange) => void): void;
}

const keptVersions = 100;
/** Bytes of a standard parameter's value. */
const standardLimit = 4096;

export function createParameterStore(options: {
  clock: RunningClock;
  gate: SimulatedGate;
  prefix: string;
}): ParameterStore {
  const { clock, gate, prefix } = options;
  /** Versions, oldest first, by whole name. */
  const stored = new Map<string, StoredParameter[]>();
  const listeners: ((change: ParameterChange) => void)[] = [];
  const nameOf = (rack: string, key: string): string => `${prefix}${rack}/${key}`;

  const changed = (change: ParameterChange, api: string, body?: unknown): void => {
    gate.note({ caller: { function: 'person' }, api, write: true, target: change.name, body });
    for (const listener of listeners) listener(change);
  };

  /** Directly below the rack: GetParametersByPath is not asked to go deeper. */
  const current = (rack: string): StoredParameter[] =>
    [...stored]
      .filter(
        ([name, [first]]) =>
          first !== undefined && name === nameOf(rack, first.key) && !first.key.includes('/'),
      )
      .flatMap(([, versions]) => versions.at(-1) ?? [])
      .sort((one, other) => (one.key < other.key ? -1 : 1));

  return {
    port: {
      list: (rack) =>
        gate.call({ api: 'ssm:GetParametersByPath', target: `${prefix}${rack}/` }, () =>
          // Who wrote a parameter is told by its history alone.
          current(rack).map(({ lastModifiedUser: _, ...parameter }) => asRead(parameter)),
        ),
      history: (rack, key) =>
        gate.call({ api: 'ssm:GetParameterHistory', target: nameOf(rack, key) }, () =>
          (stored.get(nameOf(rack, key)) ?? []).map(asRead),
        ),
    },
    set(rack, key, value, how = {}) {
      refuseBadValue(value);
      const name = nameOf(rack, key);
      const versions = stored.get(name) ?? [];
      const type = how.type ?? 'String';
      versions.push({
        key,
        value,
        type,
        version: (versions.at(-1)?.version ?? 0) + 1,
        lastModifiedDate: clock.now().toISOString(),
        lastModifiedUser: how.user ?? 'arn:aws:iam::123456789012:user/platform-engineer',
      });
      stored.set(name, versions.slice(-keptVersions));
      changed(
        { operation: versions.length === 1 ? 'Create' : 'Update', name, type },
        'ssm:PutParameter',
        value,
      );
    },
    unset(rack, key) {
      const name = nameOf(rack, key);
      const last = stored.get(name)?.at(-1);
      if (!last) throw apiError('ParameterNotFound', `${name} does not exist`);
      stored.delete(name);
      changed({ operation: 'Delete', name, type: last.type }, 'ssm:DeleteParameter');
    },
    stored: current,
    values: (rack) => Object.fromEntries(current(rack).map(({ key, value }) => [key, value])),
    onChange(listener) {
      listeners.push(listener);
    },
  };
}

/** A copy, as whoever may not decrypt reads it. */
function asRead(parameter: StoredParameter): StoredParameter {
  if (parameter.type !== 'SecureString') return { ...parameter };
  return { ...parameter, value: `encrypted:${Buffer.from(parameter.value).toString('base64')}` };
}

/** Parameter Store's own words for an empty value, and its limit for standard parameters. */
export function refuseBadValue(value: string): void {
  if (value === '') {
    throw apiError(
      'ValidationException',
      "1 validation error detected: Value at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
  }
  const bytes = Buffer.byteLength(value);
  if (bytes > standardLimit) {
    throw apiError(
      'ValidationException',
      `Standard tier parameters support a maximum parameter value of ${standardLimit} characters; this one has ${bytes}`,
    );
  }
}
