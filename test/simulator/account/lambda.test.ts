import { expect, test } from 'vitest';
import type { Ports } from '../../../rollout/ports.ts';
import { inWorld } from './world.ts';

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

test('the handler is built once, and gets JSON and nothing else', async () => {
  const seen: unknown[] = [];
  await inWorld(
    { functions: { plan: (event) => ({ number: seen.push(event), at: new Date(), nothing: undefined }) } },
    async ({ account }) => {
      const event = { when: new Date(), gone: undefined };
      expect(await account.lambda.invoke('plan', event)).toEqual({
        number: 1,
        at: '2026-03-02T09:00:00.000Z',
      });
      expect(seen).toEqual([{ when: '2026-03-02T09:00:00.000Z' }]);
    },
  );
});

test('after 120 s the answer is lost and nothing more gets through', async () => {
  const functions = {
    plan: async (_event: unknown, ports: Pick<Ports, 'reports'>) => {
      await sleep(110_000);
      await ports.reports.put('first', '', '');
      await sleep(20_000);
      await ports.reports.put('second', '', '');
    },
  };
  await inWorld({ functions }, async ({ account, until }) => {
    const answer = account.lambda.invoke('plan', {}).catch((error: unknown) => error);
    await until(119_999);
    expect(account.lambda.running()).toEqual(['plan']);
    await until(120_000);
    expect(account.lambda.running()).toEqual([]);
    expect(await answer).toMatchObject({ name: 'Sandbox.Timedout' });
    await until(200_000);
    expect([...account.reports.versions.keys()]).toEqual(['first']);
  });
});

test.each([
  ['before', 0],
  ['after', 1],
] as const)('a crash %s the effects kills the next invocation alone', async (when, effects) => {
  const functions = {
    plan: (_event: unknown, ports: Pick<Ports, 'notices'>) =>
      ports.notices.send({ type: 'told', detail: {} }),
  };
  await inWorld({ functions }, async ({ account }) => {
    account.lambda.crashNext('plan', when);
    await expect(account.lambda.invoke('plan', {})).rejects.toMatchObject({ name: 'Runtime.ExitError' });
    expect(account.notices.sent).toHaveLength(effects);
    await account.lambda.invoke('plan', {});
    expect(account.notices.sent).toHaveLength(effects + 1);
  });
});

test('an asynchronous invocation is tried again after one and after two minutes, then dropped', async () => {
  const tries: string[] = [];
  const functions = {
    reconcile: () => {
      tries.push(new Date().toISOString().slice(11, 19));
      throw new Error('no');
    },
  };
  await inWorld({ functions }, async ({ account, until }) => {
    account.lambda.invokeLater('reconcile', {});
    await until(600_000);
    expect(tries).toEqual(['09:00:00', '09:01:00', '09:03:00']);
    expect(account.lambda.dropped).toMatchObject([{ functionName: 'reconcile' }]);
  });
});
