/**
 * metadata.managedFields as the API server keeps it (structured-merge-diff): a changed field belongs to its last
 * writer alone, an equal value sent by apply is shared, and an entry that owns nothing vanishes. Lists are atomic
 * here, which they are for all that a rollout writes.
 */
import type { ManagedFieldsEntry } from '../../rollout/kubernetes.ts';
import { equal, isObject } from './json.ts';

type Tree = Record<string, unknown>;
type Path = readonly string[];

/** The leaves below the parts of an object that are owned: spec, annotations and labels. */
export function ownable(object: {
  spec?: unknown;
  metadata: { annotations?: unknown; labels?: unknown };
}): Tree {
  const { annotations, labels } = object.metadata;
  return {
    ...(object.spec === undefined ? {} : { spec: object.spec }),
    metadata: {
      ...(annotations === undefined ? {} : { annotations }),
      ...(labels === undefined ? {} : { labels }),
    },
  };
}

function leaves(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  if (!isObject(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : leaves(item, [...path, key]),
  );
}

export function owns(entry: ManagedFieldsEntry, path: Path): boolean {
  let tree: unknown = entry.fieldsV1;
  for (const key of path) {
    if (!isObject(tree)) return false;
    tree = tree[`f:${key}`];
  }
  return tree !== undefined;
}

function without(tree: Tree, path: Path): Tree {
  const [key, ...rest] = path;
  const child = key === undefined ? undefined : tree[`f:${key}`];
  if (key === undefined || !isObject(child)) return tree;
  const { [`f:${key}`]: _, ...others } = tree;
  if (rest.length === 0) return others;
  const smaller = without(child, rest);
  return Object.keys(smaller).length === 0 ? others : { ...tree, [`f:${key}`]: smaller };
}

function withPath(tree: Tree, path: Path): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  const child = tree[`f:${key}`];
  return { ...tree, [`f:${key}`]: withPath(isObject(child) ? child : {}, rest) };
}

export function fieldsTree(paths: readonly Path[]): Tree {
  return paths.reduce<Tree>(withPath, {});
}

export interface Writer {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time: string;
}

function same(entry: ManagedFieldsEntry, writer: Writer): boolean {
  return (
    entry.manager === writer.manager &&
    entry.operation === writer.operation &&
    entry.subresource === undefined
  );
}

function drop(entries: readonly ManagedFieldsEntry[], paths: readonly Path[]): ManagedFieldsEntry[] {
  return entries
    .map((entry) => ({ ...entry, fieldsV1: paths.reduce(without, entry.fieldsV1) }))
    .filter((entry) => Object.keys(entry.fieldsV1).length > 0);
}

/** Who owns what after an Update: changed and new fields go to the writer, removed ones to nobody. */
export function afterUpdate(
  entries: readonly ManagedFieldsEntry[],
  before: Tree,
  after: Tree,
  writer: Writer,
): ManagedFieldsEntry[] {
  const { changed, removed } = difference(before, after);
  if (changed.length === 0 && removed.length === 0) return [...entries];
  const others = drop(
    entries.filter((entry) => !same(entry, writer)),
    [...changed, ...removed],
  );
  const own = drop(
    entries.filter((entry) => same(entry, writer)),
    removed,
  )[0];
  const fieldsV1 = changed.reduce(withPath, own?.fieldsV1 ?? {});
  if (Object.keys(fieldsV1).length === 0) return others;
  return [...others, { ...writer, fieldsType: 'FieldsV1', fieldsV1 }];
}

function difference(before: Tree, after: Tree): { changed: Path[]; removed: Path[] } {
  const old = new Map(leaves(before).map((leaf) => [leaf.path.join('\n'), leaf]));
  const changed: Path[] = [];
  for (const leaf of leaves(after)) {
    const key = leaf.path.join('\n');
    const was = old.get(key);
    if (was === undefined || !equal(was.value, leaf.value)) changed.push(leaf.path);
    old.delete(key);
  }
  return { changed, removed: [...old.values()].map((leaf) => leaf.path) };
}

/** Managers other than the writer that own a field which the writer wants to be different. */
export function conflicts(
  entries: readonly ManagedFieldsEntry[],
  before: Tree,
  applied: Tree,
  manager: string,
): { manager: string; path: Path }[] {
  const old = new Map(leaves(before).map((leaf) => [leaf.path.join('\n'), leaf.value]));
  return leaves(applied).flatMap(({ path, value }) => {
    const key = path.join('\n');
    if (!old.has(key) || equal(old.get(key), value)) return [];
    return entries
      .filter((entry) => entry.manager !== manager && owns(entry, path))
      .map((entry) => ({ manager: entry.manager, path }));
  });
}

/** Who owns what after a server-side apply of exactly these fields. */
export function afterApply(
  entries: readonly ManagedFieldsEntry[],
  before: Tree,
  applied: Tree,
  writer: Writer,
): ManagedFieldsEntry[] {
  const old = new Map(leaves(before).map((leaf) => [leaf.path.join('\n'), leaf.value]));
  const sent = leaves(applied);
  const changed = sent.filter(({ path, value }) => !equal(old.get(path.join('\n')), value));
  const others = drop(
    entries.filter((entry) => !same(entry, writer)),
    changed.map(({ path }) => path),
  );
  if (sent.length === 0) return others;
  return [
    ...others,
    { ...writer, fieldsType: 'FieldsV1', fieldsV1: fieldsTree(sent.map(({ path }) => path)) },
  ];
}
