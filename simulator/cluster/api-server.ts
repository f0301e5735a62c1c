/**
 * The API server: the port `Cluster` as the service's own user, and the ways in which other people write the class.
 * Every call of the port passes the gate; what it returns is a copy.
 */
import { apply as mergePatch } from 'tiny-merge-patch';
import { ConflictError, InvalidError, NotFoundError } from '../../rollout/errors.ts';
import type {
  EC2NodeClass,
  Kind,
  ManagedFieldsEntry,
  MergePatch,
  ObjectsByKind,
  WrittenKind,
} from '../../rollout/kubernetes.ts';
import type { Cluster } from '../../rollout/ports.ts';
import type { Gate } from '../parts.ts';
import type { Events } from './events.ts';
import { copy, equal, isObject } from './json.ts';
import { afterApply, afterUpdate, conflicts, ownable, owns, type Writer } from './managed-fields.ts';
import { stamp } from './names.ts';
import type { MetadataFields, World } from './types.ts';
import { refuseInvalid, refuseUnknownFields, withDefaults } from './validation.ts';

const apiVersions: Record<WrittenKind, string> = {
  EC2NodeClass: 'karpenter.k8s.aws/v1',
  NodeClaim: 'karpenter.sh/v1',
  Node: 'v1',
  Lease: 'coordination.k8s.io/v1',
};

/** Kinds with a status subresource, or none: a patch of the object leaves these alone. */
const readOnlyMetadata = ['creationTimestamp', 'deletionTimestamp', 'generation', 'selfLink'] as const;

export interface ApiServer {
  port: Cluster;
  /** A merge patch of the class's options by somebody else; null removes a field, which is then defaulted again. */
  editClass: (
    name: string,
    manager: string,
    fields: { [K in keyof MetadataFields]: MetadataFields[K] | null },
  ) => void;
  /** Server-side apply of exactly these options. Throws ConflictError where another manager holds another value. */
  applyAs: (manager: string, name: string, fields: MetadataFields, force?: boolean) => void;
}

export function createApiServer(world: World, gate: Gate, events: Events, aheadMs: number): ApiServer {
  const { store, clock } = world;
  const answer = <T>(object: T): T => (aheadMs === 0 ? copy(object) : withClock(copy(object), aheadMs));

  function patchObject<K extends WrittenKind>(
    kind: K,
    name: string,
    patch: MergePatch,
    manager: string,
  ): ObjectsByKind[K] {
    const before = store.get(kind, name);
    if (before === undefined) throw new NotFoundError(`${kind} "${name}" not found in cluster ${world.name}`);
    refuseUnknownFields(kind, name, patch);
    const expected = isObject(patch['metadata']) ? patch['metadata']['resourceVersion'] : undefined;
    if (expected !== undefined && expected !== before.metadata.resourceVersion) {
      throw new ConflictError(
        `Operation cannot be fulfilled on ${kind} "${name}": the object has been modified; read it again and decide again`,
      );
    }
    const patched: unknown = mergePatch<unknown, unknown>(before, copy(patch));
    if (!isObject(patched)) throw new InvalidError(`${kind} ${name}: the patch must be an object`);
    refuseInvalid(kind, before, patched);
    const after = admitted(before, patched as unknown as ObjectsByKind[K]);
    if (kind === 'NodeClaim' && !equal(before.spec, after.spec)) {
      throw new InvalidError(
        `NodeClaim.karpenter.sh "${name}" is invalid: spec: Invalid value: spec is immutable`,
      );
    }
    const writer: Writer = {
      manager,
      operation: 'Update',
      apiVersion: apiVersions[kind],
      time: stamp(clock.now()),
    };
    return store.update(kind, name, () => withOwners(before, after, writer)) ?? before;
  }

  function applyAs(manager: string, name: string, fields: MetadataFields, force = false): void {
    const before = store.get('EC2NodeClass', name);
    if (before === undefined)
      throw new NotFoundError(`EC2NodeClass "${name}" not found in cluster ${world.name}`);
    const applied = { spec: { metadataOptions: definedOnly(fields) }, metadata: {} };
    const entries = before.metadata.managedFields ?? [];
    const inTheWay = force ? [] : conflicts(entries, ownable(before), applied, manager);
    if (inTheWay.length > 0) {
      const list = inTheWay.map(
        (conflict) => `conflict with "${conflict.manager}": .${conflict.path.join('.')}`,
      );
      throw new ConflictError(`Apply failed with ${list.length} conflict(s): ${list.join(', ')}`);
    }
    const writer: Writer = {
      manager,
      operation: 'Apply',
      apiVersion: apiVersions.EC2NodeClass,
      time: stamp(clock.now()),
    };
    const managedFields = afterApply(entries, ownable(before), applied, writer);
    const options: Record<string, unknown> = {
      ...before.spec.metadataOptions,
      ...applied.spec.metadataOptions,
    };
    // A field that was applied before and is left out now goes, unless somebody else owns it.
    const owned = entries.filter((entry) => entry.manager === manager && entry.operation === 'Apply');
    for (const field of Object.keys(options)) {
      const path = ['spec', 'metadataOptions', field];
      if (owned.some((entry) => owns(entry, path)) && !managedFields.some((entry) => owns(entry, path))) {
        options[field] = undefined;
      }
    }
    store.update('EC2NodeClass', name, (current) => ({
      ...current,
      metadata: { ...current.metadata, managedFields },
      spec: { ...current.spec, metadataOptions: withDefaults(options) },
    }));
  }

  const port: Cluster = {
    get: (kind, name) =>
      gate.call({ api: `kubernetes:get ${kind}`, target: name }, () => answer(store.get(kind, name))),
    list: <K extends Kind>(kind: K) =>
      gate.call({ api: `kubernetes:list ${kind}` }, () => {
        const found: ObjectsByKind[K][] = [];
        for (const object of store.all(kind)) if (!isFinishedPod(object)) found.push(answer(object));
        return found;
      }),
    finishedPods: () =>
      gate.call({ api: 'kubernetes:list Pod', target: 'Succeeded' }, () =>
        [...store.all('Pod')].filter(({ status }) => status?.phase === 'Succeeded').map((pod) => answer(pod)),
      ),
    failedPods: (node) =>
      gate.call({ api: 'kubernetes:list Pod', target: node }, () =>
        [...store.all('Pod')]
          .filter(({ spec, status }) => spec.nodeName === node && status?.phase === 'Failed')
          .map((pod) => answer(pod)),
      ),
    patch: (kind, name, patch) =>
      gate.call({ api: `kubernetes:patch ${kind}`, write: true, target: name, body: copy(patch) }, () =>
        answer(patchObject(kind, name, patch, 'imds-rollout')),
      ),
    emit: (event) =>
      gate.call(
        { api: 'kubernetes:create Event', write: true, target: event.regarding.name, body: copy(event) },
        () => {
          events.write(event, 'imds-rollout');
        },
      ),
  };

  return {
    port,
    editClass: (name, manager, fields) => {
      patchObject('EC2NodeClass', name, { spec: { metadataOptions: definedOnly(fields) } }, manager);
    },
    applyAs,
  };
}

/** What the API server itself dates; annotations and a Lease's own times are whoever's wrote them. */
const dated = new Set([
  'creationTimestamp',
  'deletionTimestamp',
  'lastTransitionTime',
  'lastTimestamp',
  'firstTimestamp',
  'time',
]);

/** The object as an API server says it whose clock is ahead. */
function withClock<T>(value: T, aheadMs: number, key?: string): T {
  if (typeof value === 'string')
    return key !== undefined && dated.has(key) ? (stamp(new Date(Date.parse(value) + aheadMs)) as T) : value;
  if (Array.isArray(value)) return value.map((each: unknown) => withClock(each, aheadMs)) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      name === 'annotations' || name === 'labels' ? each : withClock(each, aheadMs, name),
    ]),
  ) as T;
}

function isFinishedPod(object: ObjectsByKind[Kind]): boolean {
  return object.kind === 'Pod' && (object.status?.phase === 'Succeeded' || object.status?.phase === 'Failed');
}

/** What of a patched object is taken over: never status nor what only the registry writes; options defaulted. */
function admitted<T extends ObjectsByKind[WrittenKind]>(before: T, patched: T): T {
  const metadata: Record<string, unknown> = {
    ...patched.metadata,
    resourceVersion: before.metadata.resourceVersion,
  };
  for (const field of readOnlyMetadata)
    metadata[field] = before.metadata[field as keyof typeof before.metadata];
  const after: Record<string, unknown> = { ...patched, metadata };
  if ('status' in before) after['status'] = before.status;
  else delete after['status'];
  if (before.kind === 'EC2NodeClass') {
    const { spec } = patched as EC2NodeClass;
    after['spec'] = { ...spec, metadataOptions: withDefaults(spec.metadataOptions) };
  }
  return after as unknown as T;
}

function withOwners<T extends ObjectsByKind[WrittenKind]>(before: T, after: T, writer: Writer): T {
  // Entries that the patch itself sets stand, but for what it changes besides: so ownership can be handed back.
  const given = (after.metadata.managedFields ?? []).filter(
    (entry: Partial<ManagedFieldsEntry>) =>
      isObject(entry.fieldsV1) && Object.keys(entry.fieldsV1).length > 0,
  );
  const managedFields = afterUpdate(given, ownable(before), ownable(after), writer);
  const { managedFields: _, ...metadata } = after.metadata;
  return { ...after, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } };
}

function definedOnly<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
