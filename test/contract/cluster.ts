/** What every Cluster does, whoever serves the API. */
import { describe, expect, it } from 'vitest';
import { NotFoundError } from '../../rollout/errors.ts';
import type { EC2NodeClass, MergePatch, NodeClassMetadataOptions } from '../../rollout/kubernetes.ts';
import type { Cluster } from '../../rollout/ports.ts';

export interface ClusterSubject extends AsyncDisposable {
  /** Of a cluster where no controller is at work. */
  port: Cluster;
  /** A class whose options `manager` applied. */
  addClass(name: string, options: NodeClassMetadataOptions, manager: string): Promise<void>;
  addPool(name: string, nodeClass: string): Promise<void>;
  /** A node of the pool and its NodeClaim. */
  addNode(pool: string): Promise<{ node: string; claim: string }>;
  addLease(name: string): Promise<void>;
  /** A running pod on the node. */
  startPod(name: string, node: string): Promise<void>;
  /** Its phase becomes Succeeded. */
  finishPod(name: string): Promise<void>;
  /** The pod's phase becomes Failed. It is the one that is called `broken`. */
  failPod(name: string): Promise<void>;
  /** Server-side apply of exactly these options. */
  apply(
    nodeClass: string,
    options: NodeClassMetadataOptions,
    manager: string,
    force?: boolean,
  ): Promise<void>;
}

const options: NodeClassMetadataOptions = { httpTokens: 'optional', httpPutResponseHopLimit: 3 };
const defaults = {
  httpEndpoint: 'enabled',
  httpProtocolIPv6: 'disabled',
  httpPutResponseHopLimit: 1,
  httpTokens: 'required',
};
const OWNER = 'terraform';
const failed = (name: string, message = '') =>
  expect.objectContaining({ name, message: expect.stringContaining(message) as string }) as Error;
const ofOptions = (metadataOptions: MergePatch | null): MergePatch => ({ spec: { metadataOptions } });

export function describeCluster(name: string, make: () => Promise<ClusterSubject>): void {
  /** A class `build`, a pool `build` of it, and one node. */
  async function set() {
    const subject = await make();
    await subject.addClass('build', options, OWNER);
    await subject.addPool('build', 'build');
    const { node, claim } = await subject.addNode('build');
    const read = async (): Promise<EC2NodeClass> => {
      const nodeClass = await subject.port.get('EC2NodeClass', 'build');
      if (nodeClass === undefined) throw new NotFoundError('the class is gone');
      return nodeClass;
    };
    return {
      ...subject,
      node,
      claim,
      read,
      [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
    };
  }

  describe(`Cluster: ${name}`, () => {
    it('finds objects by name, and none where there is none', async () => {
      await using world = await set();
      const { port, node, claim } = world;
      await world.addLease('imds-rollout-build');
      for (const [kind, known] of [
        ['EC2NodeClass', 'build'],
        ['NodePool', 'build'],
        ['NodeClaim', claim],
        ['Node', node],
        ['Lease', 'imds-rollout-build'],
      ] as const) {
        expect(await port.get(kind, known)).toMatchObject({
          kind,
          metadata: {
            name: known,
            uid: expect.stringMatching(/./) as string,
            resourceVersion: expect.stringMatching(/^\d+$/) as string,
            creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
          },
        });
        expect(await port.get(kind, 'no-such-name')).toBeUndefined();
        if (kind !== 'Lease') {
          expect((await port.list(kind)).map((object) => [object.kind, object.metadata.name])).toEqual([
            [kind, known],
          ]);
        }
      }
    });

    it('lists pods that are not finished', async () => {
      await using world = await set();
      await world.startPod('runs', world.node);
      await world.startPod('done', world.node);
      await world.finishPod('done');
      const pods = await world.port.list('Pod');
      expect(pods.map((pod) => [pod.kind, pod.metadata.name, pod.spec.nodeName])).toEqual([
        ['Pod', 'runs', world.node],
      ]);
    });

    it('lists the failed pods of a node, and those of no other and of no other phase', async () => {
      await using world = await set();
      const { node: other } = await world.addNode('build');
      await world.startPod('runs', world.node);
      await world.startPod('broken', world.node);
      expect(await world.port.failedPods(world.node)).toEqual([]);
      await world.failPod('broken');
      const failed = await world.port.failedPods(world.node);
      expect(
        failed.map((pod) => [pod.kind, pod.metadata.name, pod.spec.nodeName, pod.status?.phase]),
      ).toEqual([['Pod', 'broken', world.node, 'Failed']]);
      expect(await world.port.failedPods(other)).toEqual([]);
      expect(await world.port.failedPods('no-such-node')).toEqual([]);
    });

    it('merges what a patch says into the object, and nothing else', async () => {
      await using world = await set();
      const { port, node } = world;
      await port.patch('Node', node, { metadata: { annotations: { 'imds-rollout/hold': 'a', other: 'b' } } });
      const patched = await port.patch('Node', node, {
        metadata: { annotations: { 'imds-rollout/hold': null, 'karpenter.sh/do-not-disrupt': 'true' } },
        spec: { unschedulable: true },
      });
      expect(patched).toMatchObject({ kind: 'Node', spec: { unschedulable: true } });
      expect(patched.metadata.annotations).toMatchObject({
        other: 'b',
        'karpenter.sh/do-not-disrupt': 'true',
      });
      expect(patched.metadata.annotations).not.toHaveProperty('imds-rollout/hold');
      expect(await port.get('Node', node)).toEqual(patched);
      const uncordoned = await port.patch('Node', node, { spec: { unschedulable: null } });
      expect(uncordoned.spec.unschedulable ?? false).toBe(false);
      expect(uncordoned.spec.providerID).toBe(patched.spec.providerID);
    });

    it('guards a patch by the resourceVersion that it carries', async () => {
      await using world = await set();
      const { port, read } = world;
      const { resourceVersion } = (await read()).metadata;
      const guarded = (httpTokens: string): MergePatch => ({
        metadata: { resourceVersion },
        ...ofOptions({ httpTokens }),
      });
      const outcomes = await Promise.allSettled([
        port.patch('EC2NodeClass', 'build', { ...guarded('required') }),
        port.patch('EC2NodeClass', 'build', { metadata: { resourceVersion, annotations: { a: 'b' } } }),
      ]);
      expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
      const before = await read();
      expect(before.metadata.resourceVersion).not.toBe(resourceVersion);
      await expect(port.patch('EC2NodeClass', 'build', guarded('required'))).rejects.toThrow(
        failed('ConflictError', 'the object has been modified'),
      );
      expect(await read()).toEqual(before);
    });

    it('writes nothing where a patch changes nothing', async () => {
      await using world = await set();
      const before = await world.read();
      expect(await world.port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'optional' }))).toEqual(
        before,
      );
      expect(await world.read()).toEqual(before);
    });

    it('counts changes of spec as generations, and no others', async () => {
      await using world = await set();
      const { port } = world;
      const first = (await world.read()).metadata.generation;
      const annotated = await port.patch('EC2NodeClass', 'build', { metadata: { annotations: { a: 'b' } } });
      expect(annotated.metadata.generation).toBe(first);
      const changed = await port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'required' }));
      expect(changed.metadata.generation).toBe((first ?? 0) + 1);
    });

    it('gives options that are taken out their defaults, each on its own', async () => {
      await using world = await set();
      const { port } = world;
      const one = await port.patch('EC2NodeClass', 'build', ofOptions({ httpPutResponseHopLimit: null }));
      expect(one.spec.metadataOptions).toEqual({ ...defaults, httpTokens: 'optional' });
      const all = await port.patch('EC2NodeClass', 'build', ofOptions(null));
      expect(all.spec.metadataOptions).toEqual(defaults);
    });

    it.each<[string, 'EC2NodeClass' | 'NodeClaim', MergePatch]>([
      ['an option that there is not', 'EC2NodeClass', ofOptions({ httpToken: 'required' })],
      ['a field that there is not', 'EC2NodeClass', { spec: { metadataOption: {} } }],
      ['tokens that there are not', 'EC2NodeClass', ofOptions({ httpTokens: 'Required' })],
      ['a hop limit of 0', 'EC2NodeClass', ofOptions({ httpPutResponseHopLimit: 0 })],
      ['a hop limit of 65', 'EC2NodeClass', ofOptions({ httpPutResponseHopLimit: 65 })],
      ['a hop limit in words', 'EC2NodeClass', ofOptions({ httpPutResponseHopLimit: '2' })],
      ['an annotation that is no text', 'EC2NodeClass', { metadata: { annotations: { a: 1 } } }],
      ['another name', 'EC2NodeClass', { metadata: { name: 'other' } }],
      ['another uid', 'NodeClaim', { metadata: { uid: '0e8c1d0e-0000-4000-8000-000000000000' } }],
      ["a change of a NodeClaim's spec", 'NodeClaim', { spec: { expireAfter: '1h' } }],
    ])('refuses %s', async (_what, kind, patch) => {
      await using world = await set();
      const target = kind === 'NodeClaim' ? world.claim : 'build';
      const before = await world.port.get(kind, target);
      await expect(world.port.patch(kind, target, patch)).rejects.toThrow(failed('InvalidError', target));
      expect(await world.port.get(kind, target)).toEqual(before);
    });

    it.each(['EC2NodeClass', 'NodeClaim', 'Node', 'Lease'] as const)(
      'misses a %s that is not there',
      async (kind) => {
        await using world = await set();
        await expect(
          world.port.patch(kind, 'no-such-name', { metadata: { annotations: { a: 'b' } } }),
        ).rejects.toThrow(failed('NotFoundError', 'no-such-name'));
      },
    );

    it("leaves status to who keeps it: a patch of the object doesn't reach it", async () => {
      await using world = await set();
      const { status } = await world.read();
      const patched = await world.port.patch('EC2NodeClass', 'build', {
        metadata: { annotations: { a: 'b' } },
        status: { conditions: [] },
      });
      expect(patched.status).toEqual(status);
    });

    it('remembers whose each option is', async () => {
      await using world = await set();
      const { port, read } = world;
      expect(ownersOf(await read())).toEqual({ httpTokens: [OWNER], httpPutResponseHopLimit: [OWNER] });
      await port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'required' }));
      expect(ownersOf(await read())).toEqual({
        httpTokens: ['imds-rollout'],
        httpPutResponseHopLimit: [OWNER],
      });
      const mine = (await read()).metadata.managedFields?.find(({ manager }) => manager === 'imds-rollout');
      expect(mine).toMatchObject({
        operation: 'Update',
        apiVersion: 'karpenter.k8s.aws/v1',
        fieldsType: 'FieldsV1',
      });
    });

    it('lets the earlier owner put a value back only by force', async () => {
      await using world = await set();
      const { port, read } = world;
      await port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'required' }));
      await expect(world.apply('build', options, OWNER)).rejects.toThrow(
        failed('ConflictError', 'imds-rollout'),
      );
      expect((await read()).spec.metadataOptions).toMatchObject({ httpTokens: 'required' });
      await world.apply('build', options, OWNER, true);
      expect((await read()).spec.metadataOptions).toMatchObject(options);
      expect(ownersOf(await read())).toEqual({ httpTokens: [OWNER], httpPutResponseHopLimit: [OWNER] });
    });

    it('gives ownership back as a patch of managedFields says, so that the owner meets nobody', async () => {
      await using world = await set();
      const { port, read } = world;
      await port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'required' }));
      const { metadata } = await port.patch('EC2NodeClass', 'build', ofOptions({ httpTokens: 'optional' }));
      const others = (metadata.managedFields ?? []).filter(({ manager }) => manager !== 'imds-rollout');
      await port.patch('EC2NodeClass', 'build', {
        metadata: {
          resourceVersion: metadata.resourceVersion,
          managedFields: others.map((entry) => ({ ...entry, fieldsV1: entry.fieldsV1 as MergePatch })),
        },
      });
      expect(ownersOf(await read())).toEqual({ httpPutResponseHopLimit: [OWNER] });
      await world.apply('build', { ...options, httpTokens: 'required' }, OWNER);
      expect((await read()).spec.metadataOptions).toMatchObject({ httpTokens: 'required' });
    });

    it("passes a Lease on, with Kubernetes' own kind of time", async () => {
      await using world = await set();
      const { port } = world;
      await world.addLease('imds-rollout-build');
      const at = '2026-03-02T09:00:00.123000Z';
      const taken = await port.patch('Lease', 'imds-rollout-build', {
        metadata: { annotations: { 'imds-rollout/started-at': at } },
        spec: { holderIdentity: 'demo-1', acquireTime: at, renewTime: at, leaseTransitions: 1 },
      });
      expect(taken.spec).toEqual({
        holderIdentity: 'demo-1',
        acquireTime: at,
        renewTime: at,
        leaseTransitions: 1,
      });
      const left = await port.patch('Lease', 'imds-rollout-build', {
        metadata: {
          resourceVersion: taken.metadata.resourceVersion,
          annotations: { 'imds-rollout/started-at': null },
        },
        spec: { holderIdentity: null, acquireTime: null, renewTime: null, leaseTransitions: 2 },
      });
      expect(left.spec).toEqual({ leaseTransitions: 2 });
      expect(left.metadata.annotations ?? {}).toEqual({});
    });

    it('writes Events about cluster-scoped objects', async () => {
      await using world = await set();
      const { port, read } = world;
      const { uid } = (await read()).metadata;
      const regarding = { kind: 'EC2NodeClass', name: 'build', uid } as const;
      await port.emit({
        type: 'Warning',
        reason: 'IMDSRolloutFailed',
        message: 'build-1 is wrong',
        regarding,
      });
      const written = (await port.list('Event')).filter(({ source }) => source?.component === 'imds-rollout');
      expect(written).toMatchObject([
        {
          kind: 'Event',
          metadata: { namespace: 'default' },
          type: 'Warning',
          reason: 'IMDSRolloutFailed',
          message: 'build-1 is wrong',
          involvedObject: regarding,
          lastTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
        },
      ]);
    });
  });
}

/** Per option its managers by managedFields; options that nobody owns are left out. */
function ownersOf({ metadata: { managedFields = [] } }: EC2NodeClass): Record<string, string[]> {
  const owners: Record<string, string[]> = {};
  for (const { manager, fieldsV1 } of managedFields) {
    const { 'f:spec': spec } = fieldsV1 as { 'f:spec'?: { 'f:metadataOptions'?: Record<string, unknown> } };
    for (const field of Object.keys(spec?.['f:metadataOptions'] ?? {})) {
      if (field === '.') continue;
      (owners[field.slice(2)] ??= []).push(manager);
    }
  }
  return owners;
}
