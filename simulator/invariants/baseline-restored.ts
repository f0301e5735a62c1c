/** 9. Clearing restores the baseline exactly, and the previous owner's next apply meets no conflict. */
import type { Options } from '../../rollout/record.ts';
import { optionNames } from './ask.ts';
import { foundRight, managersOf, optionsOf } from './facts.ts';
import type { History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

/** Invariant 9; judged where a rollout that began after the clearing ended well. */
export function baselineRestored(truth: Truth, history: History): Rule {
  return {
    invariant: '9 baseline-restored',
    atEnd() {
      const reading = history.reading();
      const patchedAt = history.patchedAt();
      const nodeClass = truth
        .objects('EC2NodeClass')
        .find(({ metadata }) => metadata.name === history.buildClass());
      if (reading.kind !== 'asks' || patchedAt === undefined || nodeClass === undefined) return [];
      // Somebody else wrote the class since: what it says is theirs.
      if ((history.foreignWriteAt() ?? 0) > patchedAt || !hasConcluded(truth, history)) return [];
      const owned: Options = { ...history.baseline(), ...history.givenBack() };
      const now = optionsOf(nodeClass);
      const cleared = optionNames.filter(
        (option) => owned[option] !== undefined && reading.ask[option] === undefined,
      );
      return cleared.flatMap((option) => [
        ...(now[option] === owned[option]
          ? []
          : [
              `${option} was cleared: the class says ${String(now[option])}, and said ${String(owned[option])} before`,
            ]),
        ...(managersOf(nodeClass, option).includes('imds-rollout')
          ? [`${option} was cleared, and imds-rollout still manages it in class ${nodeClass.metadata.name}`]
          : []),
      ]);
    },
  };
}

function hasConcluded(truth: Truth, history: History): boolean {
  return truth
    .executions()
    .some(
      (execution) => foundRight(execution) && Date.parse(execution.startedAt) > history.askedAt() - 30_000,
    );
}
