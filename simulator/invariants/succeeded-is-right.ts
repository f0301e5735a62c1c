/** 6. No `Succeeded` while an instance is wrong or unknown. */
import type { Instance } from '../../rollout/ec2.ts';
import type { Options } from '../../rollout/record.ts';
import { optionNames } from './ask.ts';
import { fault, runningBuildInstances } from './judgement.ts';
import type { History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

/** What became wrong, or was asked for, in the moments between the last look and the end could not be seen. */
const sinceLastLook = 60_000;
const between = 5_000;

/** Whether it was launched as asked for; a new one says `pending` for a moment. */
const hasValues = ({ metadataOptions }: Instance, target: Options): boolean =>
  optionNames.every((option) => target[option] === undefined || target[option] === metadataOptions?.[option]);

/** Invariant 6. */
export function succeededIsRight(truth: Truth, history: History): Rule {
  const told = new Set<string>();
  /** Since when an instance has not been right. */
  const wrongSince = new Map<string, number>();
  let lookedAt = 0;

  const watch = (): void => {
    const now = truth.now().getTime();
    if (now - lookedAt < between) return;
    lookedAt = now;
    for (const instance of runningBuildInstances(truth, (id) => history.isBuildInstance(id))) {
      const right = history.acceptable(0).some(({ target }) => fault(instance, target) === undefined);
      if (right) wrongSince.delete(instance.instanceId);
      else if (!wrongSince.has(instance.instanceId)) wrongSince.set(instance.instanceId, now);
    }
  };

  const judge = (name: string): string[] => {
    const now = truth.now().getTime();
    const newest = history.newest();
    const calls = truth.audit.filter(({ caller }) => caller.execution === name);
    const reads = calls.filter(({ api }) => api === 'ec2:DescribeInstances');
    // What was asked for since its last look read the parameters.
    const askedAt = calls.findLast(
      ({ api, caller }) => caller.function === 'observe' && api.startsWith('ssm:Get'),
    )?.at;
    const sinceAsked = Math.min(sinceLastLook, now - (askedAt?.getTime() ?? 0) + between);
    // What was wrong before that could be seen by the last look.
    const seenAt =
      (reads.at(-1)?.at.getTime() ?? Number.NEGATIVE_INFINITY) - truth.scenario.ec2.readStaleness - between;
    const wrong = runningBuildInstances(truth, (id) => history.isBuildInstance(id)).flatMap((instance) => {
      const targets = history.acceptable(sinceAsked);
      if (newest === undefined || targets.some(({ target }) => fault(instance, target) === undefined))
        return [];
      const since = wrongSince.get(instance.instanceId) ?? now;
      // A new instance has never been seen right, and is judged at once by its values.
      const isNew = now - Date.parse(instance.launchTime) <= sinceLastLook;
      const young =
        now - since < sinceLastLook &&
        (isNew ? targets.some(({ target }) => hasValues(instance, target)) : since > seenAt);
      return young ? [] : [`${instance.instanceId} ${fault(instance, newest.target) ?? ''}`];
    });
    const unread = reads.at(-1)?.error;
    return [
      ...wrong.map((what) => `${name} ended Succeeded while ${what}`),
      ...(unread === undefined
        ? []
        : [`${name} ended Succeeded although its last look could not read the instances (${unread})`]),
    ];
  };

  const onLook = (): string[] => {
    watch();
    const ended = truth
      .executions()
      .filter(({ name, outcome }) => outcome === 'Succeeded' && !told.has(name));
    return ended.flatMap(({ name }) => {
      told.add(name);
      return judge(name);
    });
  };
  return { invariant: '6 succeeded-is-right', onLook, atEnd: onLook };
}
