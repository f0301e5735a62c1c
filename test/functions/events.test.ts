/** The functions that events reach: parameter-changed, rollout-ended, reconcile. */
import { describe, expect, it } from 'vitest';
import {
  executionStatusChange,
  parameterStoreChange,
  scheduledEvent,
} from '../../simulator/account/events.ts';
import type { ExecutionRecord } from '../../simulator/account/execution.ts';
import { onRack, RACK, writesOf, type Rack } from './rack.ts';

const happening = { id: '0f5e7d0e-6b7c-4a37-9a4b-000000000001', at: new Date('2026-03-02T09:00:00Z') };
const change = (name: string, operation: string): unknown =>
  parameterStoreChange(happening, { name, operation: operation as 'Create', type: 'String' });
const starts = (rack: Rack): string[] =>
  rack
    .calls()
    .filter(({ api }) => api === 'states:StartExecution')
    .map(({ target = '' }) => target);

describe('parameter-changed', () => {
  const changed = async (rack: Rack, key: string, operation = 'Update'): Promise<string[]> => {
    await rack.invoke(
      'parameter-changed',
      change(key.startsWith('/') ? key : `/racks/demo/${key}`, operation),
    );
    return starts(rack);
  };

  it.each([
    'imds_http_tokens',
    'imds_http_hop_limit',
    'karpenter_build_imds_tokens',
    'karpenter_build_imds_hop_limit',
    'karpenter_enabled',
    'build_node_enabled',
    'release',
    'provider',
    'imds_rollout_strategy',
    'imds_rollout_deadline',
    'imds_rollout_whatever_comes',
  ])('starts a rollout of the rack: %s', (key) =>
    onRack(RACK, async (rack) => {
      expect(await changed(rack, key)).toEqual([expect.stringMatching(/^demo-\d+$/)]);
    }),
  );

  it.each(['Create', 'Update', 'Delete'])('on %s', (operation) =>
    onRack(RACK, async (rack) => {
      expect(await changed(rack, 'imds_http_tokens', operation)).toHaveLength(1);
    }),
  );

  it.each([
    ['another parameter', 'node_type', 'Update'],
    ['a label', 'imds_http_tokens', 'LabelParameterVersion'],
    ['a parameter that is no rack’s', '/other/demo/imds_http_tokens', 'Update'],
    ['a deeper one', '/racks/demo/deep/imds_http_tokens', 'Update'],
    ['the service’s own memory', '/imds-rollout/racks/demo/record', 'Update'],
    ['another case', 'IMDS_HTTP_TOKENS', 'Update'],
  ])('starts nothing: %s', (_, key, operation) =>
    onRack(RACK, async (rack) => {
      expect(await changed(rack, key, operation)).toEqual([]);
      expect(rack.calls()).toEqual([]);
    }),
  );

  it('starts one rollout for parameters that are set in one breath, and for doubled events', () =>
    onRack(RACK, async (rack) => {
      expect(await changed(rack, 'imds_http_tokens')).toHaveLength(1);
      expect(await changed(rack, 'imds_http_tokens')).toEqual([]);
      await rack.pass(20);
      expect(await changed(rack, 'imds_http_hop_limit')).toEqual([]);
      expect(rack.world.executions).toHaveLength(1);
    }));

  it('takes an event in whatever account and Region, and refuses one that is none', () =>
    onRack(RACK, async (rack) => {
      const event = change('/racks/demo/imds_http_tokens', 'Update') as Record<string, unknown>;
      for (const other of [
        {},
        null,
        { ...event, source: 'aws.ec2' },
        { ...event, 'detail-type': 'Parameter Store Policy Action' },
        { ...event, detail: { operation: 'Update' } },
        { ...event, detail: undefined },
        scheduledEvent(happening, 'x'),
      ])
        await expect(rack.invoke('parameter-changed', other)).rejects.toThrow(/Parse|Zod|invalid/i);
      expect(starts(rack)).toEqual([]);
    }));

  it('fails where the name has been used up, so that Lambda tries again', () =>
    onRack(RACK, async (rack) => {
      const [name = ''] = await changed(rack, 'imds_http_tokens');
      rack.world.account.stepFunctions.stop(name);
      await rack.pass(1);
      await expect(changed(rack, 'imds_http_tokens')).rejects.toThrow(
        expect.objectContaining({ name: 'NameTaken' }),
      );
    }));
});

describe('rollout-ended', () => {
  const ended = (execution: ExecutionRecord, more: Record<string, unknown> = {}): unknown => {
    const event = executionStatusChange(happening, execution);
    return { ...event, detail: { ...event.detail, ...more } };
  };

  /** The rack with an execution that plays until a condition holds. */
  async function played(rack: Rack, isThere: () => boolean): Promise<ExecutionRecord> {
    await rack.invoke('parameter-changed', change('/racks/demo/imds_http_tokens', 'Update'));
    for (let seconds = 0; !isThere() && seconds < 7200; seconds += 1) await rack.pass(1);
    const [execution] = rack.world.executions;
    if (execution === undefined) throw new Error('nothing was started');
    rack.calls();
    return execution;
  }

  const failing = RACK.replace(
    'karpenter_enabled',
    'imds_rollout_deadline: 1m\n  imds_rollout_stragglers: fail\n  karpenter_enabled',
  );
  const isOver = (rack: Rack) => (): boolean => rack.world.executions[0]?.endedAt !== undefined;

  it('does nothing for a rollout that failed and had concluded', () =>
    onRack(failing, async (rack) => {
      const execution = await played(rack, isOver(rack));
      expect(execution).toMatchObject({ status: 'FAILED', error: 'Failed' });
      const notices = rack.world.account.notices.sent.length;
      await rack.invoke('rollout-ended', ended(execution));
      expect(rack.calls().filter(({ write }) => write)).toEqual([]);
      expect(rack.world.account.notices.sent).toHaveLength(notices);
    }));

  it('does nothing for one whose event is late, and after which another has concluded', () =>
    onRack(failing, async (rack) => {
      const execution = await played(rack, isOver(rack));
      rack.world.account.parameterStore.set('demo', 'imds_rollout_stragglers', 'modify');
      for (let minutes = 0; rack.world.executions[1]?.endedAt === undefined && minutes < 600; minutes += 1)
        await rack.pass(60);
      expect(rack.world.executions[1]).toMatchObject({ status: 'SUCCEEDED' });
      const notices = rack.world.account.notices.sent.length;
      await rack.invoke('rollout-ended', ended(execution));
      expect(rack.world.account.notices.sent).toHaveLength(notices);
      expect((await rack.world.account.ports.records.read('demo')).last).toMatchObject({
        outcome: 'Succeeded',
      });
    }));

  it('does nothing for one that was refused', () =>
    onRack(RACK.replace('tokens: required', 'tokens: Required'), async (rack) => {
      const execution = await played(rack, isOver(rack));
      expect(execution).toMatchObject({ status: 'FAILED', error: 'Refused' });
      await rack.invoke('rollout-ended', ended(execution));
      expect(rack.calls().filter(({ write }) => write)).toEqual([]);
    }));

  it('raises the epoch and concludes for one that was stopped by hand, once', () =>
    onRack(RACK, async (rack) => {
      const patched = (): boolean =>
        rack.world.cluster.object('EC2NodeClass', 'build')?.spec.metadataOptions?.httpTokens === 'required';
      const execution = await played(rack, patched);
      rack.world.account.stepFunctions.stop(execution.name);
      const [lease] = rack.world.cluster.objects('Lease');
      const before = lease?.spec.leaseTransitions ?? 0;
      await rack.invoke('rollout-ended', ended(execution, { status: 'ABORTED' }));
      const [after] = rack.world.cluster.objects('Lease');
      expect(after?.spec.holderIdentity).toBeUndefined();
      expect(after?.spec.leaseTransitions).toBeGreaterThan(before);
      expect(rack.world.account.notices.sent.at(-1)).toMatchObject({
        type: 'IMDS Rollout Aborted',
        detail: {
          reason: expect.stringContaining('was stopped by hand; the class keeps what it says') as string,
        },
      });
      expect((await rack.world.account.ports.records.read('demo')).last).toMatchObject({
        outcome: 'Aborted',
        execution: execution.name,
      });
      rack.calls();
      await rack.invoke('rollout-ended', ended(execution, { status: 'ABORTED' }));
      expect(writesOf(rack.calls())).toEqual([]);
    }));

  it.each([
    ['a status that needs no cleaning up', { status: 'SUCCEEDED' }],
    ['an input that is not a rack', { input: '{"other":1}' }],
    ['an input that is not JSON', { input: 'rack' }],
    ['no name', { name: undefined }],
  ])('refuses %s', (_, more) =>
    onRack(RACK, async (rack) => {
      const execution = {
        name: 'demo-1',
        status: 'FAILED',
        startedAt: happening.at,
        input: { rack: 'demo' },
      };
      await expect(
        rack.invoke('rollout-ended', ended(execution as unknown as ExecutionRecord, more)),
      ).rejects.toThrow();
      expect(rack.calls()).toEqual([]);
    }),
  );

  it('has nothing to do for a rack that is not registered any more', () =>
    onRack(`${RACK}registered: false\n`, async (rack) => {
      const execution = {
        name: 'demo-1',
        status: 'FAILED',
        startedAt: happening.at,
        input: { rack: 'demo' },
      };
      await rack.invoke('rollout-ended', ended(execution as unknown as ExecutionRecord));
      expect(rack.calls().filter(({ write }) => write)).toEqual([]);
    }));
});

describe('reconcile', () => {
  const tick = (rack: Rack): Promise<unknown> =>
    rack.invoke('reconcile', scheduledEvent(happening, 'reconcile'));

  it('starts what an event should have, every 15 minutes, and nothing twice', () =>
    onRack(RACK, async (rack) => {
      expect(await tick(rack)).toMatchObject({ visits: [{ rack: 'demo', did: 'started' }] });
      expect(await tick(rack)).toMatchObject({ visits: [{ rack: 'demo', did: 'nothing' }] });
      expect(starts(rack)).toHaveLength(1);
    }));

  it('visits a rack without holds at no other time', () =>
    onRack(RACK.replace('09:00:00Z', '09:05:00Z'), async (rack) => {
      expect(await tick(rack)).toEqual({ visits: [] });
    }));

  it('writes nothing for a rack that asks for nothing', () =>
    onRack(RACK.replace('karpenter_enabled: "true"', 'karpenter_enabled: "false"'), async (rack) => {
      rack.calls();
      expect(await tick(rack)).toMatchObject({ visits: [{ did: 'nothing' }] });
      expect(rack.calls().filter(({ write }) => write)).toEqual([]);
    }));

  const holder = (rack: Rack): string | undefined =>
    rack.world.cluster.objects('Lease')[0]?.spec.holderIdentity;

  it('leaves the turn of an execution that runs under a name given by hand', () =>
    onRack(RACK, async (rack) => {
      await rack.world.account.ports.workflow.start('by-hand', 'demo');
      for (let seconds = 0; holder(rack) === undefined && seconds < 600; seconds += 1) await rack.pass(1);
      await rack.pass(60);
      rack.calls();
      expect(await tick(rack)).toMatchObject({
        visits: [{ did: 'nothing', what: expect.stringContaining('by-hand') as string }],
      });
      expect(holder(rack)).toBe('by-hand');
      expect(writesOf(rack.calls())).toEqual([]);
    }));

  it('finds no turn of one that was superseded and had no successor, and calls nothing failed', () =>
    onRack(
      RACK.replace('karpenter_enabled', 'imds_rollout_approval: never\n  karpenter_enabled'),
      async (rack) => {
        const { parameterStore, ports } = rack.world.account;
        await rack.invoke('parameter-changed', change('/racks/demo/imds_http_tokens', 'Update'));
        await rack.pass(60);
        parameterStore.set('demo', 'karpenter_build_imds_hop_limit', '2');
        const [first] = rack.world.executions;
        for (let seconds = 0; first?.endedAt === undefined && seconds < 600; seconds += 1) await rack.pass(1);
        expect(first).toMatchObject({ status: 'SUCCEEDED' });
        parameterStore.set('demo', 'karpenter_build_imds_hop_limit', 'two');
        await rack.pass(90);
        expect(rack.world.executions.map(({ status }) => status)).toEqual(['SUCCEEDED', 'FAILED']);
        expect(holder(rack)).toBeUndefined();
        await rack.pass(120);
        await tick(rack);
        expect(holder(rack)).toBeUndefined();
        expect(rack.world.account.notices.sent.map(({ type }) => type)).toEqual(['IMDS Rollout Refused']);
        expect((await ports.records.read('demo')).last).toMatchObject({ outcome: 'Refused' });
      },
    ));

  it('names the rack that it could not reconcile', () =>
    onRack(
      `${RACK}faults: [{ api: "kubernetes:*", error: ServiceUnavailable, from: 0s }]\n`,
      async (rack) => {
        await expect(tick(rack)).rejects.toThrow(/could not reconcile demo \(ServiceUnavailable/);
      },
    ));
});
