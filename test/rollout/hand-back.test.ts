/** Handing options back: our entries in managedFields are pruned exactly, and nobody else's is touched. */
import { describe, expect, it } from 'vitest';
import { handBack } from '../../rollout/hand-back.ts';
import type { EC2NodeClass, ManagedFieldsEntry, MergePatch } from '../../rollout/kubernetes.ts';
import { GENERATION_ANNOTATION, ROLLOUT_ANNOTATION } from '../../rollout/naming.ts';
import type { Option } from '../../rollout/options.ts';
import type { Cluster } from '../../rollout/ports.ts';
import { instant, nodeClass, patched } from './given.ts';

type Tree = Record<string, unknown>;

const entry = (
  manager: string,
  fieldsV1: Tree,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'karpenter.k8s.aws/v1',
  time: instant(0),
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});

const ANNOTATIONS = { [`f:${GENERATION_ANNOTATION}`]: {}, [`f:${ROLLOUT_ANNOTATION}`]: {} };
const options = (...names: Option[]): Tree => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
const ours = (metadataOptions: Tree, annotations: Tree = ANNOTATIONS): ManagedFieldsEntry =>
  entry('imds-rollout', {
    'f:metadata': { 'f:annotations': annotations },
    'f:spec': { 'f:metadataOptions': metadataOptions },
  });
const terraform = entry('Terraform', {
  'f:spec': { 'f:role': {}, 'f:metadataOptions': options('httpTokens', 'httpPutResponseHopLimit') },
});
const karpenter = entry('karpenter', {
  'f:metadata': { 'f:annotations': { 'f:karpenter.k8s.aws/ec2nodeclass-hash': {} } },
});

/** The class after it was handed back, and what was written. */
async function handed(
  managedFields: ManagedFieldsEntry[],
  restored: Option[],
  ownsMore: boolean,
  annotations: Record<string, string> = {
    [GENERATION_ANNOTATION]: 'g',
    [ROLLOUT_ANNOTATION]: 'r',
    other: 'x',
  },
): Promise<{ after: EC2NodeClass; patches: MergePatch[] }> {
  const patches: MergePatch[] = [];
  let after = nodeClass({ meta: { managedFields, annotations } });
  const cluster = {
    get: async () => after,
    patch: async (_kind: string, _name: string, patch: MergePatch) => {
      patches.push(patch);
      after = patched(after, patch);
      return after;
    },
  } as unknown as Cluster;
  await handBack({ cluster, nodeClass: after }, restored, ownsMore);
  return { after, patches };
}

const BOTH: Option[] = ['httpTokens', 'httpPutResponseHopLimit'];

describe('everything given back', () => {
  it('leaves no entry and no annotation of ours, and all others as they are', async () => {
    const { after } = await handed([terraform, ours(options(...BOTH)), karpenter], BOTH, false);
    expect(after.metadata.managedFields).toEqual([terraform, karpenter]);
    expect(after.metadata.annotations).toEqual({ other: 'x' });
  });

  it('is one patch, guarded, which changes no value', async () => {
    const { patches } = await handed([ours(options(...BOTH)), karpenter], BOTH, false);
    expect(patches).toHaveLength(1);
    expect(Object.keys(patches[0] ?? {})).toEqual(['metadata']);
    expect(patches[0]).toMatchObject({ metadata: { resourceVersion: '1' } });
  });

  it('counts a branch with nothing but its own mark as empty', async () => {
    const marked = ours({ '.': {}, ...options(...BOTH) }, { '.': {}, ...ANNOTATIONS });
    expect((await handed([marked, karpenter], BOTH, false)).after.metadata.managedFields).toEqual([
      karpenter,
    ]);
  });

  it('keeps whatever else we own', async () => {
    const endpoint = { ...options(...BOTH), 'f:httpEndpoint': {} };
    const { after } = await handed([ours(endpoint), karpenter], BOTH, false);
    expect(after.metadata.managedFields).toEqual([
      entry('imds-rollout', { 'f:spec': { 'f:metadataOptions': { 'f:httpEndpoint': {} } } }),
      karpenter,
    ]);
  });

  it('prunes each of several entries of ours', async () => {
    const apply = entry(
      'imds-rollout',
      { 'f:spec': { 'f:metadataOptions': options('httpTokens') } },
      { operation: 'Apply' },
    );
    const { after } = await handed([apply, ours(options('httpPutResponseHopLimit')), karpenter], BOTH, false);
    expect(after.metadata.managedFields).toEqual([karpenter]);
  });
});

describe('one option given back, the other still owned', () => {
  it('takes that one out, and keeps annotations and the rest', async () => {
    const { after } = await handed([ours(options(...BOTH)), terraform], ['httpPutResponseHopLimit'], true);
    expect(after.metadata.managedFields).toEqual([ours(options('httpTokens')), terraform]);
    expect(after.metadata.annotations).toMatchObject({
      [GENERATION_ANNOTATION]: 'g',
      [ROLLOUT_ANNOTATION]: 'r',
    });
  });
});

describe('nothing is written', () => {
  it.each<[string, ManagedFieldsEntry[], Option[], boolean]>([
    ['where nothing of ours is left', [terraform, karpenter], BOTH, false],
    ['where nothing is restored and more is owned', [ours(options(...BOTH))], [], true],
    [
      'where the restored option is not ours',
      [ours(options('httpTokens'))],
      ['httpPutResponseHopLimit'],
      true,
    ],
    ['without managedFields', [], BOTH, true],
  ])('%s', async (_, managedFields, restored, ownsMore) => {
    const { patches } = await handed(managedFields, restored, ownsMore, { other: 'x' });
    expect(patches).toEqual([]);
  });

  it('the second time', async () => {
    const { after } = await handed([terraform, ours(options(...BOTH)), karpenter], BOTH, false);
    const { managedFields = [], annotations = {} } = after.metadata;
    expect((await handed(managedFields, BOTH, false, annotations)).patches).toEqual([]);
  });
});
