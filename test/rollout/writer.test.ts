/** The class's external writer: what is waited for, and what is remembered of it. */
import { describe, expect, it } from 'vitest';
import { NODECLASS_HASH } from '../../rollout/naming.ts';
import type { Options } from '../../rollout/record.ts';
import { awaitedOf, hasCome, isAwaited, noticed } from '../../rollout/writer.ts';
import { instant, nodeClass, record, rolling } from './given.ts';

const target = { httpTokens: 'required' } as const;
const external = { policy: { ...rolling().policy, classWriter: 'external' as const }, target };
const entry = (manager: string) => ({
  manager,
  operation: 'Apply' as const,
  apiVersion: 'karpenter.k8s.aws/v1',
  fieldsType: 'FieldsV1' as const,
  fieldsV1: { 'f:spec': { 'f:metadataOptions': { 'f:httpTokens': {} } } },
});
const classThat = (says: Options, ...managers: string[]) =>
  nodeClass({
    says,
    meta: { managedFields: managers.map(entry), annotations: { [NODECLASS_HASH]: 'before' } },
  });
const asBefore = classThat({ httpTokens: 'optional' }, 'terraform');
const asAsked = classThat({ httpTokens: 'required' }, 'terraform');

describe('a class', () => {
  it.each([
    ['of somebody else that says something else', external, asBefore, true],
    ['of somebody else that says what is asked', external, asAsked, false],
    ['of ours', { ...external, policy: rolling().policy }, asBefore, false],
    ['of which nothing is asked', { ...external, target: {} }, asBefore, false],
  ])('%s is waited for: %s', (_, asking, theClass, expected) => {
    expect(isAwaited(asking, theClass)).toBe(expected);
  });

  it('is told by name, with what it says, what is asked and who has to render it', () => {
    expect(awaitedOf(target, asBefore)).toBe(
      'EC2NodeClass build says httpTokens=optional, asked is httpTokens=required: imds_rollout_class_writer is ' +
        '"external", so its writer (field manager terraform) has to render it',
    );
    expect(awaitedOf(target, classThat({ httpTokens: 'optional' }))).toContain(
      'so whoever renders the class has to render it',
    );
    expect(awaitedOf(target, classThat({ httpTokens: 'optional' }, 'imds-rollout', 'helm'))).toContain(
      '(field manager helm)',
    );
  });
});

describe('what is remembered', () => {
  it('is since when it is waited for, and what the class said and was hashed to before', () => {
    const first = noticed(record(), target, asBefore, instant(10));
    expect(first).toMatchObject({
      awaitedSince: instant(10),
      prior: { httpTokens: 'optional' },
      hashBefore: 'before',
    });
    expect(first).not.toHaveProperty('patchedAt');
    expect(noticed(first, target, asBefore, instant(60))).toEqual(first);
  });

  it('is when it came, from which everything else counts', () => {
    const waiting = noticed(record(), target, asBefore, instant(10));
    const came = noticed(waiting, target, asAsked, instant(600));
    expect(came).toMatchObject({
      patchedAt: instant(600),
      lastPatchAt: instant(600),
      hashBefore: 'before',
      prior: { httpTokens: 'optional' },
    });
    expect(came).not.toHaveProperty('awaitedSince');
    expect(noticed(came, target, asAsked, instant(700))).toEqual(came);
  });

  it('is nothing but the beginning, where the class said so all along', () => {
    expect(noticed(record(), target, asAsked, instant(10))).toEqual(record({ patchedAt: instant(10) }));
  });

  it('moves no deadline when the class is changed to and fro', () => {
    const came = noticed(record({ patchedAt: instant(100) }), target, asBefore, instant(200));
    expect(came).toMatchObject({ patchedAt: instant(100), awaitedSince: instant(200) });
    expect(noticed(came, target, asAsked, instant(300))).toMatchObject({
      patchedAt: instant(100),
      lastPatchAt: instant(300),
    });
  });
});

describe('what was waited for in vain', () => {
  const purpose = { ...external, generation: 'abc' };
  const waited = record({ generation: 'abc', awaitedSince: instant(0) });
  it.each([
    ['has come where the class says it', waited, purpose, asAsked, true],
    ['has not come where it does not', waited, purpose, asBefore, false],
    ['was not waited for', record({ generation: 'abc' }), purpose, asAsked, false],
    ['was something else', record({ ...waited, generation: 'xyz' }), purpose, asAsked, false],
    [
      'is ours to write by now',
      waited,
      { ...purpose, policy: { ...purpose.policy, classWriter: 'service' as const } },
      asAsked,
      false,
    ],
  ])('%s', (_, theRecord, asking, theClass, expected) => {
    expect(hasCome(theRecord, asking, theClass)).toBe(expected);
  });
});
