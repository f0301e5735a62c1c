import { expect, test } from 'vitest';
import { ForbiddenError, TransientError } from '../../../rollout/errors.ts';
import { inWorld } from './world.ts';

test('a fault hits its API only, and only in its time', async () => {
  await inWorld(
    { faults: [{ api: 'ssm:GetParameter', error: 'ThrottlingException', from: 1_000, until: 2_000 }] },
    async ({ gate, until }) => {
      const read = (): Promise<string> => gate.call({ api: 'ssm:GetParameter' }, () => 'read');
      await expect(read()).resolves.toBe('read');
      await until(1_000);
      const error = await read().catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(TransientError);
      expect(error).toHaveProperty('cause.name', 'ThrottlingException');
      await expect(gate.call({ api: 'ssm:PutParameter' }, () => 'written')).resolves.toBe('written');
      await until(2_000);
      await expect(read()).resolves.toBe('read');
      expect(gate.calls.get('ssm:GetParameter')).toEqual({ calls: 3, throttled: 1, errors: 0 });
    },
  );
});

test.each([
  ['AccessDenied', ForbiddenError],
  ['UnauthorizedOperation', ForbiddenError],
  ['RequestLimitExceeded', TransientError],
  ['InternalError', TransientError],
  ['TimeoutError', TransientError],
])('%s reaches the caller as what an adapter makes of it', async (code, kind) => {
  await inWorld({ faults: [{ api: 'kubernetes:*', error: code }] }, async ({ gate }) => {
    await expect(gate.call({ api: 'kubernetes:get Node' }, () => 0)).rejects.toBeInstanceOf(kind);
  });
});

test('a call that fails has no effect, but for a time-out, where it may have', async () => {
  const effects = async (error: string): Promise<number> => {
    let done = 0;
    await inWorld({ faults: [{ api: 'kubernetes:*', error }] }, async ({ gate }) => {
      for (let call = 0; call < 40; call += 1) {
        await gate.call({ api: 'kubernetes:patch Node', write: true }, () => (done += 1)).catch(() => 0);
      }
      expect(gate.audit.filter((entry) => entry.error === undefined)).toHaveLength(done);
      expect(gate.calls.get('kubernetes:patch Node')).toMatchObject({ calls: 40 });
    });
    return done;
  };
  expect(await effects('InternalError')).toBe(0);
  const afterTimeOuts = await effects('TimeoutError');
  expect(afterTimeOuts).toBeGreaterThan(5);
  expect(afterTimeOuts).toBeLessThan(35);
});

test('a write that failed changed nothing, so it does not count as the last change', async () => {
  await inWorld({ faults: [{ api: 's3:*', error: 'InternalError', from: 2_000 }] }, async (world) => {
    const put = (): Promise<void> => world.account.ports.reports.put('a', '', '');
    await world.until(1_000);
    await put();
    await world.until(3_000);
    await expect(put()).rejects.toBeInstanceOf(TransientError);
    expect(new Date(world.gate.changedAt()).toISOString()).toBe('2026-03-02T09:00:01.000Z');
  });
});

test('latency passes in virtual time, and the call takes effect after it', async () => {
  await inWorld({ faults: [{ api: 's3:PutObject', latency: 5_000 }] }, async ({ account, until }) => {
    void account.ports.reports.put('demo/a.json', '{}', 'application/json');
    await until(4_999);
    expect(account.reports.versions.size).toBe(0);
    await until(5_000);
    expect(account.reports.versions.get('demo/a.json')).toEqual([
      { at: '2026-03-02T09:00:05.000Z', body: '{}', contentType: 'application/json' },
    ]);
  });
});

test('the audit names the function and the execution that called', async () => {
  await inWorld(
    { functions: { plan: (_event, ports) => ports.parameters.list('demo') } },
    async ({ account, gate, until }) => {
      await account.ports.workflow.start('first', 'demo');
      await until(1_000);
      expect(gate.audit).toMatchObject([
        { api: 'states:StartExecution', caller: { function: 'person' }, write: true, target: 'first' },
        { api: 'ssm:GetParametersByPath', caller: { function: 'plan', execution: 'first' }, write: false },
      ]);
    },
  );
});
