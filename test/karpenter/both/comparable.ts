/**
 * What a result says apart from time and chance, so that the simulator's and the real Karpenter's can be compared key
 * by key. Pure.
 */
import type { RealResult } from './collect.ts';

/** By key of the result. */
export type Comparable = Record<string, unknown>;

/** What of a result is left out of the comparison, and why. */
export const notCompared: Readonly<Record<string, string>> = {
  'rollouts: transitions, historyEvents, maxPayloadBytes':
    'they count looks, and how often is a matter of time',
  'builds: waitedSeconds, why': 'times, and the words of whoever evicted it',
  'instances, reason: how many were launched': 'Karpenter may launch one more; each kind of them is compared',
  'reason, held: what Karpenter says when it is waited for':
    'it says it once in two minutes; of a node that it has just launched, that it is nominated for a pod',
  'reason: who waits for Karpenter at the last look and is gone at the end':
    'Karpenter may take it before that look, at once',
  'calls, virtualSeconds, seed, violations': 'the simulator alone has them',
};

export function comparable(result: RealResult): Comparable {
  const { instances, rollouts } = result;
  const gone = new Set(instances.flatMap(({ node, terminatedAt }) => (terminatedAt === null ? [] : [node])));
  const known = new Set(instances.flatMap(({ node, atStart }) => (atStart === null ? [] : [node])));
  const nameOf = (node: string | null): string | null =>
    node === null || known.has(node) ? node : 'a new node';
  const text = (words: string | null): string | null => {
    let plain = withoutGone(withoutSayings(words), gone);
    for (const { node } of instances)
      if (node !== null) plain = plain?.replaceAll(node, String(nameOf(node))) ?? null;
    return ordinals(withoutCounts(plain), rollouts);
  };
  return {
    outcome: result.outcome,
    reason: text(result.reason),
    rollouts: rollouts.map(({ generation, outcome, reason, compliantAt, endedAt }) => ({
      purpose: purposeOf(generation, rollouts),
      outcome,
      reason: text(reason),
      compliant: compliantAt !== null,
      ended: endedAt !== null,
    })),
    instances: instances
      .filter(({ atStart }) => atStart !== null)
      .map(({ node, pool, atStart, atEnd, modifiedAt, terminatedAt, endedBy }) => ({
        node,
        pool,
        atStart,
        atEnd,
        modified: modifiedAt !== null,
        terminated: terminatedAt !== null,
        endedBy,
      }))
      .sort((one, other) => String(one.node).localeCompare(String(other.node))),
    launched: distinct(
      instances
        .filter(({ atStart }) => atStart === null)
        .map(({ atEnd, modifiedAt, endedBy }) => ({ atEnd, modified: modifiedAt !== null, endedBy })),
    ),
    builds: result.builds.map(({ name, node, outcome, changedUnder }) => ({
      name,
      node: nameOf(node),
      outcome,
      changedUnder,
    })),
    buildsLost: result.buildsLost,
    held: result.held
      .map(({ node, cordoned, protected: isProtected, why }) => ({
        node: nameOf(node),
        cordoned,
        protected: isProtected,
        why: text(why)?.replace(/^(waits for Karpenter): .*$/, '$1'),
      }))
      .sort((one, other) => String(one.node).localeCompare(String(other.node))),
    classes: Object.fromEntries(
      Object.entries(result.classes).map(([name, { metadataOptions, owners, annotations }]) => [
        name,
        {
          metadataOptions,
          owners: owners
            .map(({ manager, fields }) => ({ manager, fields: [...fields].sort() }))
            .sort((one, other) => one.manager.localeCompare(other.manager)),
          annotations: Object.fromEntries(
            Object.entries(annotations).map(([key, value]) => [key, ordinals(value, rollouts)]),
          ),
        },
      ]),
    ),
    parameters: result.parameters,
    notices: result.notices.map(({ type, detail }) => ({
      type,
      outcome: detail['outcome'],
      reason: text(String(detail['reason'])),
      keys: Object.keys(detail).sort(),
    })),
  };
}

type Rollouts = RealResult['rollouts'];

/** The first rollout of the same purpose, counted from 1: a generation has the class's uid in it. */
const purposeOf = (generation: string | null, rollouts: Rollouts): number | null =>
  generation === null ? null : rollouts.findIndex((rollout) => rollout.generation === generation) + 1;

/** `a (waits for Karpenter, which says: …), b (waits for Karpenter, within its budgets)` is `a, b (waits for Karpenter)`. */
const withoutSayings = (words: string | null): string | null =>
  words
    ?.replaceAll(/(waits for Karpenter), [^()]*(?:\([^()]*\))?[^()]*\)/g, '$1)')
    .replaceAll('(waits for Karpenter), ', ', ')
    .replaceAll(' , ', ', ') ?? null;

/** Of `; waiting to be replaced: a, b (waits for Karpenter)` those that are there still at the end. */
const withoutGone = (words: string | null, gone: ReadonlySet<string | null>): string | null =>
  words?.replace(/; waiting to be replaced: ([^;()]*) \(waits for Karpenter\)/, (_, nodes: string) => {
    const left = nodes.split(', ').filter((node) => !gone.has(node));
    return left.length === 0 ? '' : `; waiting to be replaced: ${left.join(', ')} (waits for Karpenter)`;
  }) ?? null;

/** `all 3 build instances are` and `the one build instance is` as desired. */
const withoutCounts = (words: string | null): string | null =>
  words?.replaceAll(
    /\b(all \d+ build instances are|the one build instance is)\b/g,
    'the build instances are',
  ) ?? null;

/** Executions and generations by their number. */
function ordinals(words: string | null, rollouts: Rollouts): string | null {
  let plain = words;
  rollouts.forEach(({ execution, generation }, index) => {
    plain = plain?.replaceAll(execution, `rollout ${String(index + 1)}`) ?? null;
    if (generation !== null) {
      plain = plain?.replaceAll(generation, `purpose ${String(purposeOf(generation, rollouts))}`) ?? null;
    }
  });
  return plain;
}

/** Each once, in an order of their own. */
function distinct<T>(items: readonly T[]): T[] {
  const texts = [...new Set(items.map((item) => JSON.stringify(item)))].sort();
  return texts.map((text) => JSON.parse(text) as T);
}
