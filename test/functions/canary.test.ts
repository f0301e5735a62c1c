/** The tasks of a canary, as Lambda calls them: twice equals once, and what a fleet that changes meanwhile comes to. */
import { describe, expect, it } from 'vitest';
import type { State } from '../../rollout/state.ts';
import { plan, until } from './play.ts';
import { onRack, RACK, writesOf, type Rack } from './rack.ts';

const CANARY = RACK.replace('karpenter_enabled', 'imds_rollout_canary: "1"\n  karpenter_enabled');

const markOf = (rack: Rack, node: string): unknown =>
  rack.world.cluster.object('Node', node)?.metadata.annotations?.['imds-rollout/canary'];

/** Runs a task, and again with the same event: the second run writes nothing. */
async function twice(rack: Rack, state: State): Promise<State> {
  rack.calls();
  const next = await rack.task('modify-stragglers', state);
  expect(writesOf(rack.calls())).not.toEqual([]);
  expect(await rack.task('modify-stragglers', structuredClone(state))).toMatchObject({ next: next.next });
  expect(writesOf(rack.calls())).toEqual([]);
  return next;
}

describe('a canary', () => {
  it('is marked by one call, and modified by another', () =>
    onRack(CANARY, async (rack) => {
      const due = await until(rack, await plan(rack), ({ next }) => next === 'modify-canary');
      expect(markOf(rack, 'busy')).toBeUndefined();
      rack.calls();
      const marked = await rack.task('modify-stragglers', due);
      expect(writesOf(rack.calls()).filter((call) => call.startsWith('ec2:'))).toEqual([]);
      expect(markOf(rack, 'busy')).toContain('"httpTokens":"optional","httpPutResponseHopLimit":3');
      expect(markOf(rack, 'idle')).toBeUndefined();
      expect(await rack.task('modify-stragglers', due)).toMatchObject({ next: 'modify-canary' });
      expect(writesOf(rack.calls())).toEqual([]);
      expect(await twice(rack, marked)).toMatchObject({ next: 'look', lookAgainIn: 5 });
    }));

  it('that is larger than the pool has come to be is refused, also after the plan', () =>
    onRack(CANARY.replace('canary: "1"', 'canary: "2"'), async (rack) => {
      const due = await until(rack, await plan(rack), ({ next }) => next === 'modify-canary');
      rack.world.cluster.interrupt('idle');
      const end = await rack.task('modify-stragglers', due);
      expect(end).toMatchObject({
        outcome: 'Refused',
        reason: expect.stringMatching(/^imds_rollout_canary is 2 and NodePool build has only 1/) as string,
      });
      expect(await rack.task('conclude', end)).toMatchObject({ outcome: 'Refused' });
      const { last, canary } = await rack.world.account.ports.records.read('demo');
      expect({
        outcome: last?.outcome,
        marks: markOf(rack, 'busy'),
        hasCanary: canary !== undefined,
      }).toEqual({
        outcome: 'Refused',
        marks: undefined,
        hasCanary: true,
      });
      const lease = rack.world.cluster.object('Lease', 'imds-rollout-build');
      expect(lease?.spec.holderIdentity ?? '').toBe('');
    }));

  it('is put back before its rollout ends, whatever ends it', () =>
    onRack(CANARY, async (rack) => {
      const bakes = await until(
        rack,
        await plan(rack),
        (state) => 'canary' in state && state.canary.bakingSince !== undefined,
      );
      expect(bakes.next === 'look' && bakes.waitsFor).toMatch(
        /^canary busy bakes until .*: 0 rejections, 0 failed Builds$/,
      );
      const caught = { ...bakes, error: { Error: 'ForbiddenError', Cause: 'may not' } };
      const back = await rack.task('conclude', caught);
      expect(back).toMatchObject({ next: 'put-back-and-end', outcome: 'Failed' });
      const written = await twice(rack, back);
      expect(written).toMatchObject({ next: 'put-back-and-end', lookAgainIn: 10 });
      expect(markOf(rack, 'busy')).toBeDefined();
      await rack.pass(10);
      const end = await rack.task('modify-stragglers', written);
      expect(end).toMatchObject({ next: 'conclude', outcome: 'Failed' });
      expect(markOf(rack, 'busy')).toBeUndefined();
      const [idle, busy] = rack.world.account.ec2.history.map(({ instance }) => instance.metadataOptions);
      expect(busy).toEqual(idle);
      expect(await rack.task('conclude', end)).toMatchObject({ next: 'conclude', outcome: 'Failed' });
      const { canary } = await rack.world.account.ports.records.read('demo');
      expect(canary).toBeUndefined();
    }));

  it('that cannot be put back is left to reconcile, and ends the execution all the same', () =>
    onRack(CANARY, async (rack) => {
      const bakes = await until(
        rack,
        await plan(rack),
        (state) => 'canary' in state && state.canary.bakingSince !== undefined,
      );
      const back = await rack.task('conclude', { ...bakes, error: { Error: 'ForbiddenError' } });
      const end = await rack.task('conclude', {
        ...back,
        error: { Error: 'ForbiddenError', Cause: 'may not' },
      });
      expect(end).toMatchObject({ next: 'conclude', outcome: 'Failed' });
      expect(await rack.world.account.ports.records.read('demo')).toMatchObject({
        holdsMayExist: true,
        canary: { since: expect.any(String) as string },
      });
    }));
});
