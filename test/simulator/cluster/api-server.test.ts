import { describe, expect, it } from 'vitest';
import { ConflictError, InvalidError, NotFoundError } from '../../../rollout/errors.ts';
import type { EC2NodeClass, ManagedFieldsEntry, MergePatch } from '../../../rollout/kubernetes.ts';
import { bench, second } from './fakes.ts';

function optionsOf(nodeClass: EC2NodeClass | undefined): unknown {
  return nodeClass?.spec.metadataOptions;
}

function ownedBy(nodeClass: EC2NodeClass | undefined, manager: string): unknown {
  return nodeClass?.metadata.managedFields
    ?.filter((entry) => entry.manager === manager)
    .map(({ fieldsV1 }) => fieldsV1);
}

const tokensField = { 'f:spec': { 'f:metadataOptions': { 'f:httpTokens': {} } } };

describe('a merge patch', () => {
  it('changes only what it names, raises the generation, and returns a copy', async () => {
    const { cluster } = bench();
    const before = await cluster.port.get('EC2NodeClass', 'build');
    const after = await cluster.port.patch('EC2NodeClass', 'build', {
      spec: { metadataOptions: { httpTokens: 'required' } },
    });
    expect(optionsOf(after)).toEqual({
      httpEndpoint: 'enabled',
      httpProtocolIPv6: 'disabled',
      httpPutResponseHopLimit: 3,
      httpTokens: 'required',
    });
    expect(after.metadata.generation).toBe((before?.metadata.generation ?? 0) + 1);
    expect(after.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion);
    after.spec.metadataOptions = {};
    expect(optionsOf(cluster.object('EC2NodeClass', 'build'))).toMatchObject({ httpTokens: 'required' });
  });

  it('writes nothing where nothing changes', async () => {
    const { cluster } = bench();
    const patch = {
      metadata: { annotations: { a: 'b' } },
      spec: { metadataOptions: { httpTokens: 'required' } },
    };
    const once = await cluster.port.patch('EC2NodeClass', 'build', patch);
    const twice = await cluster.port.patch('EC2NodeClass', 'build', patch);
    expect(twice).toEqual(once);
  });

  it('leaves the generation alone for annotations', async () => {
    const { cluster } = bench();
    const before = cluster.object('EC2NodeClass', 'build');
    const after = await cluster.port.patch('EC2NodeClass', 'build', {
      metadata: { annotations: { a: 'b' } },
    });
    expect(after.metadata.generation).toBe(before?.metadata.generation);
    expect(after.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion);
  });

  it('is refused on another resourceVersion, and on an object that is not there', async () => {
    const { cluster } = bench();
    const version = cluster.object('EC2NodeClass', 'build')?.metadata.resourceVersion ?? '';
    const patch = (to: string): MergePatch => ({
      metadata: { resourceVersion: version },
      spec: { metadataOptions: { httpTokens: to } },
    });
    await cluster.port.patch('EC2NodeClass', 'build', patch('required'));
    await expect(cluster.port.patch('EC2NodeClass', 'build', patch('optional'))).rejects.toThrow(
      ConflictError,
    );
    await expect(cluster.port.patch('Node', 'nobody', { spec: { unschedulable: true } })).rejects.toThrow(
      NotFoundError,
    );
  });

  it.each<[string, MergePatch]>([
    ['an unknown option', { spec: { metadataOptions: { httpToken: 'required' } } }],
    ['an unknown field of spec', { spec: { metadataOption: {} } }],
    ['a value outside the enum', { spec: { metadataOptions: { httpTokens: 'Required' } } }],
    ['a hop limit of 65', { spec: { metadataOptions: { httpPutResponseHopLimit: 65 } } }],
    ['a hop limit of 0', { spec: { metadataOptions: { httpPutResponseHopLimit: 0 } } }],
    ['a hop limit that is text', { spec: { metadataOptions: { httpPutResponseHopLimit: '1' } } }],
    ['an annotation that is no text', { metadata: { annotations: { a: true } } }],
  ])('is refused for %s, and changes nothing', async (_, patch) => {
    const { cluster } = bench();
    const before = cluster.object('EC2NodeClass', 'build');
    await expect(cluster.port.patch('EC2NodeClass', 'build', patch)).rejects.toThrow(InvalidError);
    expect(cluster.object('EC2NodeClass', 'build')).toBe(before);
  });

  it('defaults options that it removes to required and 1', async () => {
    const { cluster } = bench();
    const after = await cluster.port.patch('EC2NodeClass', 'build', { spec: { metadataOptions: null } });
    expect(optionsOf(after)).toMatchObject({ httpTokens: 'required', httpPutResponseHopLimit: 1 });
  });

  it('passes the gate with its body, as do reads', async () => {
    const { cluster, calls } = bench();
    await cluster.port.list('Node');
    await cluster.port.patch('EC2NodeClass', 'build', { metadata: { annotations: { a: 'b' } } });
    expect(calls).toEqual([
      { api: 'kubernetes:list Node', write: false },
      {
        api: 'kubernetes:patch EC2NodeClass',
        write: true,
        target: 'build',
        body: { metadata: { annotations: { a: 'b' } } },
      },
    ]);
  });
});

describe('managedFields', () => {
  it('move to the last writer of a field, in real form', async () => {
    const { cluster } = bench();
    cluster.addClass('owned', {
      httpTokens: 'optional',
      owners: [{ manager: 'terraform', fields: ['httpTokens', 'httpPutResponseHopLimit'] }],
    });
    const after = await cluster.port.patch('EC2NodeClass', 'owned', {
      spec: { metadataOptions: { httpTokens: 'required' } },
    });
    expect(ownedBy(after, 'imds-rollout')).toEqual([tokensField]);
    expect(ownedBy(after, 'terraform')).toEqual([
      { 'f:spec': { 'f:metadataOptions': { 'f:httpPutResponseHopLimit': {} } } },
    ]);
    const entry = after.metadata.managedFields?.find(({ manager }) => manager === 'imds-rollout');
    expect(entry).toMatchObject({
      operation: 'Update',
      apiVersion: 'karpenter.k8s.aws/v1',
      fieldsType: 'FieldsV1',
    });
  });

  it('of other annotations stay when one is added', async () => {
    const { cluster } = bench();
    await cluster.port.patch('EC2NodeClass', 'build', { metadata: { annotations: { one: '1' } } });
    const after = await cluster.port.patch('EC2NodeClass', 'build', {
      metadata: { annotations: { two: '2' } },
    });
    expect(ownedBy(after, 'imds-rollout')).toEqual([
      { 'f:metadata': { 'f:annotations': { 'f:one': {}, 'f:two': {} } } },
    ]);
  });

  it('can be handed back by a patch of them, so that the owner applies without conflict', async () => {
    const { cluster } = bench();
    cluster.addClass('owned', {
      httpTokens: 'optional',
      owners: [{ manager: 'terraform', fields: ['httpTokens'] }],
    });
    const before = cluster.object('EC2NodeClass', 'owned')?.metadata.managedFields ?? [];
    await cluster.port.patch('EC2NodeClass', 'owned', {
      spec: { metadataOptions: { httpTokens: 'required' } },
    });
    expect(() => {
      cluster.applyAs('terraform', 'owned', { httpTokens: 'optional' });
    }).toThrow(ConflictError);
    await cluster.port.patch('EC2NodeClass', 'owned', {
      spec: { metadataOptions: { httpTokens: 'optional' } },
    });
    await cluster.port.patch('EC2NodeClass', 'owned', {
      metadata: { managedFields: before as unknown as (MergePatch & ManagedFieldsEntry)[] },
    });
    expect(ownedBy(cluster.object('EC2NodeClass', 'owned'), 'imds-rollout')).toEqual([]);
    cluster.applyAs('terraform', 'owned', { httpTokens: 'required' });
    expect(optionsOf(cluster.object('EC2NodeClass', 'owned'))).toMatchObject({ httpTokens: 'required' });
  });

  it('make an apply that leaves a field out default it again', () => {
    const { cluster } = bench();
    cluster.addClass('owned', { httpPutResponseHopLimit: 3 });
    cluster.applyAs('flux', 'owned', { httpPutResponseHopLimit: 5, httpTokens: 'optional' });
    cluster.applyAs('flux', 'owned', { httpTokens: 'optional' });
    expect(optionsOf(cluster.object('EC2NodeClass', 'owned'))).toMatchObject({
      httpPutResponseHopLimit: 1,
      httpTokens: 'optional',
    });
  });
});

describe('lists', () => {
  it('leave out pods that have finished', async () => {
    const { cluster, clock } = bench();
    cluster.addPool('build', { class: 'build', consolidateAfterMs: null });
    const node = cluster.addNode({ pool: 'build' });
    cluster.addBuild({ name: 'short', node, runsForMs: 5 * second });
    cluster.addBuild({ name: 'long', node, runsForMs: 50 * second });
    clock.advance(10 * second);
    const names = (await cluster.port.list('Pod')).map(({ metadata }) => metadata.name);
    expect(names).toEqual(['long']);
  });

  it('show what the service emitted', async () => {
    const { cluster } = bench();
    const { name, uid } = cluster.object('EC2NodeClass', 'build')?.metadata ?? { name: '', uid: '' };
    await cluster.port.emit({
      type: 'Normal',
      reason: 'RolloutStarted',
      message: 'required/1',
      regarding: { kind: 'EC2NodeClass', name, uid },
    });
    expect(await cluster.port.list('Event')).toMatchObject([
      { reason: 'RolloutStarted', involvedObject: { name: 'build' }, source: { component: 'imds-rollout' } },
    ]);
  });
});
