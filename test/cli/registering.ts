/** What registering and removing a rack does to a cluster, whoever serves its API. */
import { describe, expect, it } from 'vitest';
import { createCluster } from '../../adapters/cluster/cluster.ts';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';
import { leaseManifests, policyManifests, rbacManifests } from '../../cli/account/manifests.ts';
import { createObjects } from '../../cli/account/objects.ts';
import { addRack } from '../../cli/rack/add.ts';
import { READ_GROUP, WRITE_GROUP } from '../../cli/rack/entries.ts';
import { removeRack } from '../../cli/rack/remove.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { deploymentOf, handsOn, listener, newAccount, reader, writer } from './registered.ts';

export interface RegisteringSubject extends AsyncDisposable {
  api: ApiClient;
}

const registration = { rack: 'demo', cluster: 'demo', nodePool: 'build' };
const clock = { now: () => new Date('2026-03-02T09:00:00Z') };
const hold = JSON.stringify({ rollout: 'demo-1', before: { doNotDisrupt: null, unschedulable: false } });
const HELD = { 'imds-rollout/hold': hold, 'karpenter.sh/do-not-disrupt': 'true' };
const baseline = { httpTokens: 'optional', httpPutResponseHopLimit: 3 } as const;

export function describeRegistering(name: string, make: () => Promise<RegisteringSubject>): void {
  async function world() {
    const subject = await make();
    const { api } = subject;
    const hands = handsOn(api);
    await hands.addClass('build', baseline);
    await hands.addPool('build', 'build');
    const account = newAccount();
    const deployment = deploymentOf(account, api);
    const objects = createObjects(api);
    const all = [...policyManifests([]), ...rbacManifests(), ...leaseManifests('build')];
    return {
      account,
      api,
      hands,
      deployment,
      objects,
      cluster: createCluster(api, clock),
      /** The pools and classes that the policy knows. */
      known: async () => {
        const [policy] = policyManifests([]);
        const stored = policy && (await objects.get(policy));
        const { variables } = stored?.['spec'] as { variables: { expression: string }[] };
        return variables.slice(0, 2).map(({ expression }) => expression.split("'")[1]);
      },
      /** Which of the objects there are. */
      there: async () => {
        const found = await Promise.all(all.map((manifest) => objects.get(manifest)));
        return found.flatMap((object) =>
          object === undefined ? [] : [`${object.kind} ${object.metadata.name}`],
        );
      },
      all: all.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      add: async (more: { rack?: string; nodePool?: string; dryRun?: boolean } = {}) => {
        const { say, said, marks } = listener();
        await addRack(deployment, { ...registration, dryRun: false, ...more }, say);
        return { said, marks: marks() };
      },
      remove: async (choice?: 'baseline' | 'keep', more: { rack?: string; dryRun?: boolean } = {}) => {
        const { say, said } = listener();
        await removeRack(deployment, { rack: 'demo', dryRun: false, choice, ...more }, say);
        return said;
      },
      [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
    };
  }

  /** The class as a rollout leaves it. */
  async function rollOut(of: Awaited<ReturnType<typeof world>>): Promise<void> {
    await of.cluster.patch('EC2NodeClass', 'build', {
      metadata: { annotations: { 'imds-rollout/rollout': 'demo-1', 'imds-rollout/generation': 'abc' } },
      spec: { metadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 } },
    });
    of.account.records.set('demo', { ...emptyRecord, baseline });
  }

  describe(`registering a rack on ${name}`, () => {
    it('makes everything once', async () => {
      await using of = await world();
      const first = await of.add();
      expect(first.marks).toBe('+=?');
      expect(await of.there()).toEqual(of.all);
      expect(of.account.registrations).toEqual([registration]);
      expect(Object.fromEntries([...of.account.entries].map(([role, { groups }]) => [role, groups]))).toEqual(
        {
          [reader]: [READ_GROUP],
          [writer]: [WRITE_GROUP],
        },
      );
      const second = await of.add();
      expect(second.said.filter(([mark]) => mark !== '=')).toEqual([['?', expect.any(String)]]);
      expect(of.account.registrations).toHaveLength(1);
    });

    it('writes nothing in a dry run', async () => {
      await using of = await world();
      expect((await of.add({ dryRun: true })).marks).toBe('+=');
      expect(await of.there()).toEqual([]);
      expect([of.account.registrations, of.account.entries.size]).toEqual([[], 0]);
    });

    it('puts right what somebody changed, and leaves what is not its own', async () => {
      await using of = await world();
      await of.add();
      const [role] = rbacManifests();
      const stored = role && (await of.objects.get(role));
      if (stored === undefined) throw new Error('the role is not there');
      const labels = { ...stored.metadata.labels, team: 'builds' };
      await of.objects.replace({ ...stored, rules: [], metadata: { ...stored.metadata, labels } });
      const { said } = await of.add();
      expect(said.filter(([mark]) => mark === '~')).toEqual([['~', 'ClusterRole imds-rollout-read']]);
      const now = await of.objects.get(stored);
      expect(now?.['rules']).toEqual(role?.['rules']);
      expect(now?.metadata.labels).toMatchObject({ team: 'builds' });
    });

    it('comes to the same where two register at the same time, the same rack or two of a cluster', async () => {
      await using of = await world();
      await of.hands.addClass('other', baseline);
      await of.hands.addPool('other', 'other');
      await Promise.all([of.add(), of.add(), of.add({ rack: 'other', nodePool: 'other' })]);
      expect(await of.there()).toEqual(of.all);
      expect(await of.known()).toEqual(['build,other', 'build,other']);
      const { said } = await of.add();
      expect(said.filter(([mark]) => mark !== '=')).toEqual([['?', expect.any(String)]]);
    });

    it('keeps a second rack of the cluster apart, and leaves nothing after the last', async () => {
      await using of = await world();
      await of.hands.addClass('other', baseline);
      await of.hands.addPool('other', 'other');
      await of.add();
      await of.add({ rack: 'second', nodePool: 'other' });
      expect(await of.known()).toEqual(['build,other', 'build,other']);
      await of.remove();
      expect(of.account.registrations.map(({ rack }) => rack)).toEqual(['second']);
      expect(of.account.entries.size).toBe(2);
      expect(await of.there()).toEqual(of.all.filter((object) => object !== 'Lease imds-rollout-build'));
      expect(await of.known()).toEqual(['other', 'other']);
      await of.remove(undefined, { rack: 'second' });
      expect(await of.there()).toEqual([]);
      expect([of.account.registrations, of.account.entries.size]).toEqual([[], 0]);
    });

    it('gives the class back what it said before, and its fields to whoever writes them next', async () => {
      await using of = await world();
      await of.add();
      await rollOut(of);
      await of.remove('baseline');
      const nodeClass = await of.cluster.get('EC2NodeClass', 'build');
      expect(nodeClass?.spec.metadataOptions).toMatchObject(baseline);
      expect(nodeClass?.metadata.annotations ?? {}).not.toHaveProperty('imds-rollout/rollout');
      const managers = (nodeClass?.metadata.managedFields ?? []).map(({ manager }) => manager);
      expect(managers).not.toContain('imds-rollout');
      expect(of.account.records.size).toBe(0);
      expect(await of.there()).toEqual([]);
    });

    it('leaves the class what it says now where that is wanted', async () => {
      await using of = await world();
      await of.add();
      await rollOut(of);
      await of.remove('keep');
      const nodeClass = await of.cluster.get('EC2NodeClass', 'build');
      expect(nodeClass?.spec.metadataOptions).toMatchObject({ httpTokens: 'required' });
      expect(nodeClass?.metadata.annotations ?? {}).not.toHaveProperty('imds-rollout/rollout');
    });

    it('releases what is still held, of this rack alone', async () => {
      await using of = await world();
      await of.add();
      await of.hands.addNode('held', 'build', HELD);
      await of.hands.addNode('foreign', 'workload', HELD);
      const said = await of.remove();
      expect(said).toContainEqual(['-', 'holds of held']);
      expect((await of.cluster.get('Node', 'held'))?.metadata.annotations ?? {}).toEqual({});
      expect((await of.cluster.get('Node', 'foreign'))?.metadata.annotations).toEqual(HELD);
    });

    it('leaves nothing where the pool is gone, and can be run again after it was stopped', async () => {
      await using of = await world();
      await of.add();
      await of.hands.addNode('held', 'build', HELD);
      const path = '/apis/karpenter.sh/v1/nodepools/build';
      await of.api({ verb: 'delete', resource: 'nodepools', method: 'DELETE', path });
      of.account.stopsAtForgetting = true;
      await expect(of.remove()).rejects.toThrow('stopped');
      expect(await of.there()).toEqual([]);
      expect((await of.cluster.get('Node', 'held'))?.metadata.annotations ?? {}).toEqual({});
      expect(of.account.registrations).toHaveLength(1);
      of.account.stopsAtForgetting = false;
      const said = await of.remove();
      expect(said.filter(([mark]) => mark !== '=')).toEqual([['-', 'record and registration of rack demo']]);
      expect(of.account.registrations).toEqual([]);
    });

    it('changes nothing when it is removed in a dry run', async () => {
      await using of = await world();
      await of.add();
      await rollOut(of);
      await of.hands.addNode('held', 'build', HELD);
      const before = await of.cluster.get('EC2NodeClass', 'build');
      const said = await of.remove('baseline', { dryRun: true });
      expect(said).toContainEqual(['-', 'holds of held']);
      expect(await of.there()).toEqual(of.all);
      expect(await of.cluster.get('EC2NodeClass', 'build')).toEqual(before);
      expect(of.account.registrations).toHaveLength(1);
    });

    it('is not removed while a node carries the mark of its canary, before anything is written', async () => {
      await using of = await world();
      await of.add();
      await of.hands.addNode('tried', 'build', { 'imds-rollout/canary': '{"edited":true}' });
      await of.hands.addNode('foreign', 'workload', { 'imds-rollout/canary': '{"edited":true}' });
      await expect(of.remove('keep')).rejects.toThrow(
        /^nodes of rack demo carry the mark of a canary, .*: tried\nReconcile starts a rollout/,
      );
      expect(await of.there()).toEqual(of.all);
      expect(of.account.registrations).toHaveLength(1);
    });

    it('is not removed where a Build would be lost, before anything is written', async () => {
      await using of = await world();
      await of.add();
      await rollOut(of);
      await of.hands.addNode('busy', 'build');
      await of.hands.addPod('b-1', 'busy');
      await expect(of.remove('baseline')).rejects.toThrow(/b-1 on busy\nLet a rollout give the values back/);
      await expect(of.remove()).rejects.toThrow(/--baseline .* or --keep/);
      expect(await of.there()).toEqual(of.all);
    });
  });
}
