/**
 * 7. A canary ends: its mark says what was before it was modified, and goes only when the class has come to say what was
 * tried, or the instance is exactly as before; while a Build failed on it the class is not patched.
 */
import type { MetadataOptions } from '../../rollout/ec2.ts';
import type { Node } from '../../rollout/kubernetes.ts';
import type { AuditEntry } from '../parts.ts';
import { optionNames } from './ask.ts';
import { changes, fields, isOurs, optionsOf, patchedOptions } from './facts.ts';
import type { History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

type Options = Omit<MetadataOptions, 'state'>;

const annotation = 'imds-rollout/canary';
/** A look and CloudWatch come so late at most. */
const seenWithin = 2 * 60_000;
/** EC2's reads may be so old. */
const stale = 10_000;
/** Reconcile sees marks within two minutes, and what it starts puts them back within a few more. */
const longEnough = 20 * 60_000;

interface Canary {
  node: string;
  markedAt: number;
  /** As they truly were. */
  before: Options;
}

export interface Canaries {
  /** What a marked instance's options truly were before it was tried; undefined for one that is not marked. */
  before(instanceId: string): Options | undefined;
  rule: Rule;
}

const without = ({ state: _, ...options }: MetadataOptions): Options => options;
const same = (one: object, other: object): boolean =>
  Object.entries({ ...one, ...other }).every(
    ([key]) => (one as Record<string, unknown>)[key] === (other as Record<string, unknown>)[key],
  );
const said = (options: Options): string => `${options.httpTokens}/${String(options.httpPutResponseHopLimit)}`;

export function createCanaries(truth: Truth, history: History): Canaries {
  const marked = new Map<string, Canary>();
  /** What each execution found before it first modified an instance. */
  const found = new Map<string, Options>();
  const byHandAt = new Map<string, number>();
  const broken = new Map<string, { node: string; at: number }>();
  const known = new Set<string>();

  const instanceOf = (node: Node | undefined) =>
    truth.instances().find(({ instanceId }) => node?.spec.providerID?.endsWith(`/${instanceId}`) === true);
  const key = (entry: AuditEntry, id: string): string => `${entry.caller.execution ?? ''} ${id}`;

  /** A mark is written: it has to say what was, not what is after a modification. */
  const onMark = (entry: AuditEntry, text: string): string[] => {
    const node = truth.objects('Node').find(({ metadata }) => metadata.name === entry.target);
    const instance = instanceOf(node);
    if (node === undefined || instance?.metadataOptions === undefined) return [];
    const id = instance.instanceId;
    const before = marked.get(id)?.before ?? found.get(key(entry, id)) ?? without(instance.metadataOptions);
    const at = entry.at.getTime();
    if (!marked.has(id)) marked.set(id, { node: node.metadata.name, markedAt: at, before });
    const mark = fields(JSON.parse(text))?.['before'];
    if (at - (byHandAt.get(id) ?? 0) < stale || (fields(mark) !== undefined && same(before, mark as object)))
      return [];
    return [`the mark of ${node.metadata.name} does not say ${said(before)}, which its instance was before`];
  };

  const onUnmark = (entry: AuditEntry): string[] => {
    const node = truth.objects('Node').find(({ metadata }) => metadata.name === entry.target);
    const [id, canary] = [...marked].find(([, each]) => each.node === entry.target) ?? [];
    if (id === undefined || canary === undefined) return [];
    marked.delete(id);
    for (const [build, { node: on }] of broken) if (on === canary.node) broken.delete(build);
    found.delete(key(entry, id));
    const now = instanceOf(node)?.metadataOptions;
    const isGone = now === undefined || instanceOf(node)?.state === 'shutting-down';
    if (isGone || now.httpEndpoint === 'disabled' || truth.scenario.account.httpTokensEnforced) return [];
    if (same(without(now), { ...canary.before, ...classLike(without(now)) })) return [];
    // Somebody has changed it meanwhile: that is theirs.
    if ((byHandAt.get(id) ?? 0) > canary.markedAt) return [];
    return [
      `${canary.node} is no canary any more and left at ${said(without(now))}; before it was ${said(canary.before)}, and the class was never patched`,
    ];
  };

  /** Options in which the instance is as the class says by now: in those there is nothing to go back to. */
  const classLike = (options: Options): Partial<Options> => {
    const nodeClass = truth
      .objects('EC2NodeClass')
      .find(({ metadata }) => metadata.name === history.buildClass());
    if (nodeClass === undefined) return {};
    const says = optionsOf(nodeClass);
    return Object.fromEntries(
      optionNames.filter((name) => says[name] === options[name]).map((name) => [name, options[name]]),
    );
  };

  /** The class is patched by ours: what broke on the canary long enough before was seen. */
  const onPatch = (entry: AuditEntry): string[] =>
    [...broken]
      .filter(([, { at }]) => at <= entry.at.getTime() - seenWithin)
      .map(([build, { node }]) => `the class was patched although ${build} failed on canary ${node}`);

  /** Builds that come to fail on a canary. One that the selector leaves out is seen only where EC2 counts it. */
  const watchBuilds = (): void => {
    const canaries = new Set([...marked.values()].map(({ node }) => node));
    const isNarrowed = truth.parameters().some((each) => each.key === 'imds_rollout_build_selector');
    // Those that broke before there was a canary are known too: they say nothing of it.
    for (const { name, node, outcome, why } of truth.builds()) {
      if (outcome !== 'brokenByImds' || known.has(name)) continue;
      known.add(name);
      const isSeen = !isNarrowed || why?.includes('IMDSv1') === true;
      if (node !== null && canaries.has(node) && isSeen)
        broken.set(name, { node, at: truth.now().getTime() });
    }
  };

  return {
    before: (id) => marked.get(id)?.before,
    rule: {
      invariant: '7 canary-put-back',
      onCall(entry) {
        const id = entry.target ?? '';
        if (entry.api === 'ec2:ModifyInstanceMetadataOptions' && entry.error === undefined) {
          if (!isOurs(entry)) byHandAt.set(id, entry.at.getTime());
          const before = history.instanceBefore(id);
          if (isOurs(entry) && before !== undefined && !found.has(key(entry, id)))
            found.set(key(entry, id), without(before));
          return [];
        }
        if (!isOurs(entry) || !changes(entry)) return [];
        if (Object.keys(patchedOptions(entry) ?? {}).length > 0) return onPatch(entry);
        const written = fields(fields(fields(entry.body)?.['metadata'])?.['annotations'])?.[annotation];
        if (typeof written === 'string') return onMark(entry, written);
        return written === null ? onUnmark(entry) : [];
      },
      onLook() {
        watchBuilds();
        return [];
      },
      atEnd() {
        if (truth.executions().some(({ endedAt }) => endedAt === null)) return [];
        const now = truth.now().getTime();
        const lastAt =
          truth.audit.findLast((entry) => entry.write && entry.error === undefined)?.at.getTime() ?? 0;
        if (now - Math.max(lastAt, history.askedAt()) < longEnough) return [];
        return truth
          .objects('Node')
          .filter(({ metadata }) => metadata.annotations?.[annotation] !== undefined)
          .map(({ metadata }) => `${metadata.name} is still marked as a canary`);
      },
    },
  };
}
