import { expect, test } from 'vitest';
import { contention } from '../../rollout/contend.ts';
import { GENERATION_ANNOTATION } from '../../rollout/naming.ts';
import { emptyRecord, type RolloutRecord } from '../../rollout/record.ts';
import { at, instant, nodeClass } from './given.ts';

const state = { generation: 'abc', target: { httpTokens: 'required' } } as const;
const owners = [
  {
    manager: 'argocd',
    operation: 'Apply' as const,
    apiVersion: 'karpenter.k8s.aws/v1',
    fieldsType: 'FieldsV1' as const,
    fieldsV1: { 'f:spec': { 'f:metadataOptions': { 'f:httpTokens': {} } } },
  },
];
const classThat = (says: 'optional' | 'required', wroteFor: string | undefined, generation = 7) =>
  nodeClass({
    says: { httpTokens: says },
    generation,
    meta: {
      managedFields: owners,
      annotations: wroteFor === undefined ? {} : { [GENERATION_ANNOTATION]: wroteFor },
    },
  });
const written = (...seconds: number[]): RolloutRecord => ({
  ...emptyRecord,
  reapplied: seconds.map((second, index) => ({ at: instant(second), classGeneration: index + 1 })),
});
const NOW = at(3600);

test.each([
  ['a class that was never written for this', classThat('optional', undefined), written(), []],
  ['one written for another purpose', classThat('optional', 'xyz'), written(), []],
  ['one that says what is asked', classThat('required', 'abc'), written(), []],
  ['values put back once', classThat('optional', 'abc'), written(), [7]],
  ['values put back for the third time', classThat('optional', 'abc'), written(100, 200), [1, 2, 7]],
  ['a time that was counted already', classThat('optional', 'abc', 3), written(100, 200, 300), [1, 2, 3]],
  ['times of more than an hour ago', classThat('optional', 'abc'), written(-10, 0, 300), [3, 7]],
])('%s: is written, and counted as it should be', (_, theClass, record, generations) => {
  const found = contention(state, theClass, record, NOW);
  expect(found).toMatchObject({ kind: 'mine' });
  expect(found.kind === 'mine' && found.reapplied.map((each) => each.classGeneration)).toEqual(generations);
});

test.each([
  ['the first time on the way back', -5, []],
  ['put back on the way back', 5, [7]],
])('%s: is written, and counted as it should be', (_, patched, generations) => {
  const record = {
    ...written(),
    takingBack: { since: instant(1000), why: 'refused' },
    lastPatchAt: instant(1000 + patched),
  };
  const found = contention(state, classThat('optional', 'abc'), record, NOW);
  expect(found.kind === 'mine' && found.reapplied.map((each) => each.classGeneration)).toEqual(generations);
});

test('values put back for the fourth time within an hour are left, and who did it is named', () => {
  const found = contention(state, classThat('optional', 'abc'), written(100, 200, 300), NOW);
  expect(found).toMatchObject({ kind: 'contended' });
  expect(found.kind === 'contended' && found.why).toMatch(
    /^argocd put httpTokens=optional back into EC2NodeClass build, .*httpTokens=required/,
  );
});
