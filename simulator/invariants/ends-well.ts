/**
 * 7. It ends, in the newest desired state or with an outcome that names why. (Holds: see holds-in-table.ts.)
 * Judged only where there was time to get there: the last write of a parameter is long enough ago for a reconcile
 * visit, and nothing is running that still may.
 */
import type { Outcome } from '../../rollout/record.ts';
import { awaitedNotice } from './approvals.ts';
import { millisecondsOf, optionNames } from './ask.ts';
import { isOurs, optionsOf } from './facts.ts';
import type { History } from './history.ts';
import { fault, runningBuildInstances } from './judgement.ts';
import type { ObservedExecution, Rule, Truth } from './truth.ts';

/** Reconcile sees a rack every 15 minutes; its rollout settles, plans and looks within a few more. */
const longEnough = 20 * 60_000;
/** What a rollout may take beyond its deadline and drain time-out: looks, conclusion, half an hour without a look. */
const slack = 60 * 60_000;

/** How long it may wait for a person. */
const approvalWait = 7 * 24 * 60 * 60_000;

const namesWhy: readonly Outcome[] = [
  'Refused',
  'Rejected',
  'Expired',
  'Aborted',
  'RolledBack',
  'Contended',
  'Failed',
];

/** Invariant 7, but for holds. */
export function endsWell(truth: Truth, history: History): Rule {
  return {
    invariant: '7 ends-well',
    atEnd() {
      const circles = goesInCircles(truth);
      if (circles.length > 0) return circles;
      const running = truth.executions().filter(({ endedAt }) => endedAt === null);
      if (running.length > 0) return running.flatMap((execution) => runsTooLong(truth, execution));
      return [...endsWithoutReason(truth), ...endsElsewhere(truth, history)];
    },
  };
}

/** One rollout brings what is asked for, and one more may come of a late event; a third has no reason. */
const enough = 2;

function goesInCircles(truth: Truth): string[] {
  const since = truth.audit.findLast((entry) => entry.write && !isOurs(entry))?.at ?? new Date(0);
  const more = truth
    .executions()
    .filter(({ startedAt }) => Date.parse(startedAt) > since.getTime())
    .filter(({ outcome }) => outcome === 'Succeeded' || outcome === 'Superseded');
  if (more.length <= enough) return [];
  const ends = [...new Set(more.map(({ outcome }) => outcome))].join(' and ');
  return [
    `it does not come to an end: ${more.length} rollouts ended ${ends} since anybody last changed something`,
  ];
}

function runsTooLong(truth: Truth, execution: ObservedExecution): string[] {
  const value = (key: string, fallback: string): number =>
    millisecondsOf(truth.parameters().find((parameter) => parameter.key === key)?.value ?? fallback);
  const once = value('imds_rollout_deadline', '60m') + value('imds_rollout_drain_timeout', '12h');
  // A class that is somebody else's to write is waited for as long.
  const isExternal = truth
    .parameters()
    .some((parameter) => parameter.key === 'imds_rollout_class_writer' && parameter.value === 'external');
  const asked = askedSomebody(truth, execution.name) ? approvalWait : 0;
  const canary = truth.parameters().some(({ key }) => key === 'imds_rollout_canary');
  // Another canary is chosen twice at most where all of it vanishes.
  const bake = canary ? 3 * (value('imds_rollout_bake', '10m') + slack) : 0;
  const most = (isExternal ? 2 : 1) * once + asked + bake + slack;
  if (truth.now().getTime() - Date.parse(execution.startedAt) <= most) return [];
  return [`${execution.name} does not end: it runs since ${execution.startedAt}`];
}

const askedSomebody = (truth: Truth, execution: string): boolean =>
  truth.audit.some(({ target, caller }) => target === awaitedNotice && caller.execution === execution);

function endsWithoutReason(truth: Truth): string[] {
  return truth
    .executions()
    .filter(({ reason }) => reason === null || reason.trim() === '')
    .map(({ name, outcome }) => `${name} ended ${outcome ?? 'without an outcome'} and gives no reason`);
}

function endsElsewhere(truth: Truth, history: History): string[] {
  const now = truth.now().getTime();
  if (!truth.scenario.registered || !history.everAsked()) return [];
  const changedAt = Math.max(history.askedAt(), history.foreignWriteAt() ?? 0);
  if (now - changedAt < longEnough) return [];
  const missing = whatIsMissing(truth, history);
  if (missing.length === 0) return [];
  const last = truth
    .executions()
    .findLast(({ outcome }) => outcome !== 'NothingToDo' && outcome !== 'Superseded');
  if (last?.outcome && namesWhy.includes(last.outcome)) return [];
  return [`it ended ${last?.outcome ?? 'without a rollout'}, while ${missing.join(', ')}`];
}

/** What keeps class and instances from the newest desired state; a refused value must end in an outcome that says so. */
function whatIsMissing(truth: Truth, history: History): string[] {
  const reading = history.reading();
  if (reading.kind === 'inert') return [];
  const nodeClass = truth
    .objects('EC2NodeClass')
    .find(({ metadata }) => metadata.name === history.buildClass());
  if (nodeClass === undefined) return [];
  if (reading.kind === 'refused') return [`${reading.keys.join(' and ')} cannot be accepted`];
  const target = reading.external ? reading.ask : { ...history.baseline(), ...reading.ask };
  const now = optionsOf(nodeClass);
  const inClass = optionNames
    .filter((option) => target[option] !== undefined && target[option] !== now[option])
    .map(
      (option) =>
        `${option} of the class is ${String(now[option])} and ${String(target[option])} is asked for`,
    );
  const onInstances = runningBuildInstances(truth, (id) => history.isBuildInstance(id)).flatMap(
    (instance) => {
      const why = fault(instance, target);
      return why === undefined ? [] : [`${instance.instanceId} ${why}`];
    },
  );
  return [...inClass, ...onInstances.slice(0, 5)];
}
