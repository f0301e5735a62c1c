/**
 * A person's decision by the function approve, which may die after any of its calls: the same request again comes to the
 * same decision, another person hears of the one that counts, and people are told.
 */
import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { createHandler } from '../../functions/approve/create-handler.ts';
import type { ApprovePorts } from '../../rollout/approve.ts';
import { TransientError } from '../../rollout/errors.ts';
import type { Claim } from '../../rollout/ports.ts';
import { proofOf } from '../../simulator/account/identities.ts';
import { onRack, RACK, type Rack } from './rack.ts';

const ASKING = RACK.replace('parameters:', 'parameters:\n  imds_rollout_approval: always');
const ADA = 'arn:aws:sts::123456789012:assumed-role/platform/ada';
const BOB = 'arn:aws:sts::123456789012:assumed-role/platform/bob';
const context = { functionName: 'approve', awsRequestId: 'x' } as Context;

type Decision = Claim['decision'];

interface Asked {
  rack: Rack;
  ports: ApprovePorts;
  hash: string;
  /** What the function answers to somebody, on these ports. */
  decide: (by: string, decision: Decision, ports?: ApprovePorts, reason?: string) => Promise<unknown>;
  said: () => Promise<unknown>;
  approvedNotices: () => number;
}

/** A rollout of the rack waits for somebody. */
const onAsked = (body: (asked: Asked) => Promise<void>): Promise<void> =>
  onRack(ASKING, async (rack) => {
    const { account } = rack.world;
    const { ports } = account;
    await ports.workflow.start('demo-1', 'demo');
    await rack.pass(120);
    const { awaiting } = await ports.approvals.read('demo');
    const hash = awaiting?.hash ?? 'nothing was asked';
    await body({
      rack,
      ports,
      hash,
      decide: (by, decision, on = ports, reason = 'CHG-1') => {
        const claim: Claim = { rack: 'demo', hash, decision, reason };
        return createHandler(on)({ ...claim, identity: proofOf(by, claim, ports.clock.now()) }, context);
      },
      said: async () => (await ports.approvals.read('demo')).last,
      approvedNotices: () =>
        account.notices.sent.filter(({ type }) => type === 'IMDS Rollout Approved').length,
    });
  });

class Death extends Error {
  override name = 'Death';
}

/** Ports on which the function dies once its n-th call has taken effect. */
function dyingAfter(n: number, ports: ApprovePorts): { ports: ApprovePorts; last: () => string } {
  let calls = 0;
  let last = '';
  const dying = <T extends object>(name: string, port: T): T =>
    new Proxy(port, {
      get: (target, method) => {
        const call = Reflect.get(target, method) as (...given: unknown[]) => unknown;
        return async (...given: unknown[]) => {
          const answer = await call(...given);
          calls += 1;
          last = `${name}.${String(method)}`;
          if (calls === n) throw new Death(`after ${last}`);
          return answer;
        };
      },
    });
  const { clock, ...rest } = ports;
  const names = ['records', 'approvals', 'waitTokens', 'identities', 'workflow', 'notices'] as const;
  const each = Object.fromEntries(names.map((name) => [name, dying(name, rest[name])]));
  return { ports: { clock, ...each } as unknown as ApprovePorts, last: () => last };
}

/** After which calls it may die, in their order: none is left out, whatever they come to be. */
async function callsOf(decision: Decision): Promise<string[]> {
  const calls: string[] = [];
  for (let n = 1; ; n += 1) {
    const died: string[] = [];
    await onAsked(async ({ ports, decide }) => {
      const dying = dyingAfter(n, ports);
      await decide(ADA, decision, dying.ports).catch(() => died.push(dying.last()));
    });
    if (died.length === 0) return calls;
    calls.push(...died);
  }
}

const calls = { approved: await callsOf('approved'), rejected: await callsOf('rejected') };

describe.each<[Decision, readonly string[]]>([
  ['approved', calls.approved],
  ['rejected', calls.rejected],
])('%s, dead after', (decision, after) => {
  const each = after.map((call, index) => [index + 1, call] as const);

  it('every call', () => {
    expect(after).toEqual(expect.arrayContaining(['workflow.answer', 'approvals.write']));
  });

  it.each(each)('call %i, %s: the same request comes to the same, and people are told', (n) =>
    onAsked(async ({ rack, ports, hash, decide, said, approvedNotices }) => {
      await expect(decide(ADA, decision, dyingAfter(n, ports).ports)).rejects.toThrow(Death);
      // Told and not yet on record: the one gap in which people are told a second time.
      const isToldTwice = approvedNotices() === 1 && (await said()) === undefined;
      await rack.pass(20);
      expect(await decide(ADA, decision)).toEqual({
        rack: 'demo',
        hash,
        decision,
        by: ADA,
        execution: 'demo-1',
      });
      expect(await said()).toMatchObject({ decision, by: ADA, hash, reason: 'CHG-1' });
      expect(approvedNotices()).toBe(decision === 'rejected' ? 0 : isToldTwice ? 2 : 1);
      // And once more, since nobody at a terminal knows which of them counted.
      expect(await decide(ADA, decision)).toMatchObject({ decision, by: ADA });
      await rack.pass(60);
      const { state, status } = rack.world.executions[0] ?? {};
      if (decision === 'approved') expect(state).not.toBe('Await approval');
      else expect(status).toBe('FAILED');
    }),
  );

  it.each(each)('call %i, %s: somebody else hears of the one that counts', (n) =>
    onAsked(async ({ rack, ports, hash, decide, said, approvedNotices }) => {
      await expect(decide(ADA, decision, dyingAfter(n, ports).ports)).rejects.toThrow(Death);
      const first = (await ports.workflow.answers('demo-1')).at(0) as { by: string; at: string } | undefined;
      await rack.pass(90);
      const answer = await decide(BOB, 'approved');
      if (first === undefined) {
        expect(answer).toMatchObject({ by: BOB, decision: 'approved' });
        return;
      }
      expect(answer).toEqual({ refused: `${hash} was ${decision} already, by ${ADA} at ${first.at}` });
      expect(await said()).toMatchObject({ decision, by: ADA, at: first.at });
      expect(approvedNotices()).toBeGreaterThanOrEqual(decision === 'approved' ? 1 : 0);
    }),
  );
});

it('says what came first to the second of two who decide at the same moment', () =>
  onAsked(async ({ decide, hash }) => {
    const [one, other] = await Promise.all([decide(ADA, 'approved'), decide(BOB, 'rejected')]);
    expect(one).toMatchObject({ by: ADA, decision: 'approved' });
    expect(other).toEqual({
      refused: expect.stringMatching(`^${hash} was approved already, by ${ADA} at `) as string,
    });
  }));

it('does not take the same person with other words for the same request', () =>
  onAsked(async ({ decide }) => {
    await decide(ADA, 'approved');
    expect(await decide(ADA, 'approved', undefined, 'CHG-2')).toEqual({
      refused: expect.stringContaining('was approved already') as string,
    });
  }));

it('cannot tell yet where the wait takes no answer and Step Functions shows none', () =>
  onAsked(async ({ ports, decide, said }) => {
    const lagging: ApprovePorts = {
      ...ports,
      workflow: { ...ports.workflow, answer: async () => 'gone', answers: async () => [] },
    };
    const asked = decide(ADA, 'approved', lagging);
    await expect(asked).rejects.toThrow(TransientError);
    await expect(asked).rejects.toThrow(/^demo-1 takes no answer, .*give the same command again/);
    expect(await said()).toBeUndefined();
    expect(await decide(ADA, 'approved')).toMatchObject({ by: ADA });
  }));

it('decides nothing once the execution was stopped', () =>
  onAsked(async ({ rack, decide, said }) => {
    rack.world.account.stepFunctions.stop('demo-1');
    await rack.pass(5);
    expect(await decide(ADA, 'approved')).toEqual({
      refused: expect.stringMatching(/^demo-1 does not wait for approval any more/) as string,
    });
    expect(await said()).toBeUndefined();
  }));

it('is settled by whoever comes next, where nobody asks the function again', () =>
  onAsked(async ({ rack, ports, decide, said, approvedNotices }) => {
    const dead = dyingAfter(calls.approved.indexOf('workflow.answer') + 1, ports);
    await expect(decide(ADA, 'approved', dead.ports)).rejects.toThrow(Death);
    const state = {
      schemaVersion: 1,
      rack: 'demo',
      execution: 'demo-2',
      startedAt: ports.clock.now().toISOString(),
      looks: 0,
      next: 'end-wait',
      earlier: 'demo-1',
      waitsFor: 'the end of demo-1',
    };
    await rack.task('approve', state, 'demo-2');
    expect(await said()).toMatchObject({ by: ADA, decision: 'approved' });
    expect(approvedNotices()).toBe(1);
    expect((await ports.approvals.read('demo')).awaiting).toBeUndefined();
  }));
