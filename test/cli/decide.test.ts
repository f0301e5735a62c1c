/** approve and reject against an account, from the command line to what is stored, told and answered. */
import { describe, expect, it, vi } from 'vitest';
import { ADA } from '../adapters/checking-sts.ts';
import { question } from '../rollout/given.ts';
import { run } from './command-in.ts';
import { LocalAccount } from './local-account.ts';

vi.setConfig({ testTimeout: 120_000 });

const HASH = question.hash;
const RECORDS = '/imds-rollout/racks/demo';
const at = '2026-03-02T09:00:00.000Z';
const awaiting = {
  ...question,
  execution: 'demo-1',
  startedAt: at,
  askedAt: at,
  until: '2999-03-09T09:00:00.000Z',
};

/** A registered rack whose rollout waits for somebody. */
async function waiting(): Promise<LocalAccount> {
  const account = await LocalAccount.open();
  const store = (name: string, value: object) => account.stored.set(name, JSON.stringify(value));
  store(`${RECORDS}/registration`, { rack: 'demo', cluster: 'demo', nodePool: 'build' });
  store(`${RECORDS}/approval`, { schemaVersion: 1, awaiting });
  store('/imds-rollout/approval-tokens/demo', { execution: 'demo-1', token: 'the-token' });
  account.executions.set('demo-1', { status: 'RUNNING', token: 'the-token', answers: [] });
  return account;
}

const stored = (account: LocalAccount): unknown =>
  JSON.parse(account.stored.get(`${RECORDS}/approval`) ?? 'null');
const invoked = (account: LocalAccount): number =>
  account.calls.filter((call) => call.startsWith('/2015-03-31/functions/imds-rollout-approve')).length;

describe.each([
  ['approve', 'approved', /Follow it: imds-rollout watch -r demo/, 1],
  ['reject', 'rejected', /It ends Rejected\./, 0],
])('%s', (command, decision, then, told) => {
  it.each([
    ['what waits', []],
    ['what waits, by its hash', ['--hash', HASH]],
  ])('%s: in the name of who asks, on record, told and answered', async (_what, hash) => {
    await using account = await waiting();
    const { status, stdout, stderr } = await run(account, command, '--reason', 'CHG-1', ...hash);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^0123456789ab: demo-1 waits for approval since /);
    expect(stdout).toContain('Class build: httpPutResponseHopLimit 1 → 2 (looser)');
    expect(stdout).toContain(`${HASH} ${decision} by ${ADA}.`);
    expect(stdout).toMatch(then);
    const said = { decision, hash: HASH, by: ADA, reason: 'CHG-1' };
    expect(stored(account)).toMatchObject({ last: { ...said, execution: 'demo-1' } });
    expect(stored(account)).not.toHaveProperty('awaiting');
    expect(
      account.executions.get('demo-1')?.answers.map((answer) => JSON.parse(answer) as unknown),
    ).toMatchObject([said]);
    expect(account.notices.map(({ DetailType }) => DetailType)).toEqual(
      told === 1 ? ['IMDS Rollout Approved'] : [],
    );
    expect(account.stored.has('/imds-rollout/approval-tokens/demo')).toBe(false);
  });

  it('once more: the same comes to the same, and other words do not count', async () => {
    await using account = await waiting();
    const args = [command, '--hash', HASH, '--reason'];
    await run(account, ...args, 'CHG-1');
    expect(await run(account, ...args, 'CHG-1', '--json')).toMatchObject({ status: 0, stderr: '' });
    expect(await run(account, ...args, 'CHG-2')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(`^${HASH} was ${decision} already, by ${ADA} at `) as string,
    });
    expect(await run(account, command, '--reason', 'CHG-1')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        `^no rollout of rack demo waits for approval; ${HASH} was ${decision} by ${ADA} at `,
      ) as string,
    });
    expect(account.executions.get('demo-1')?.answers).toHaveLength(1);
    expect(account.notices).toHaveLength(told);
  });
});

describe('approve', () => {
  const command = 'approve';

  it('another hash than what waits: nothing is decided', async () => {
    await using account = await waiting();
    expect(await run(account, command, '--reason', 'CHG-1', '--hash', 'ba9876543210')).toMatchObject({
      status: 1,
      stderr: `ba9876543210 is not what waits for approval; that is ${HASH}: httpPutResponseHopLimit 1 → 2 (looser)\n`,
    });
    expect(account.executions.get('demo-1')?.answers).toEqual([]);
  });

  it.each([
    [
      ['--reason', 'CHG-1', '--hash', '0123'],
      /^--hash "0123" is not accepted; accepted: the 12 characters 0-9 and a-f that the notice and imds-rollout status say\n$/,
    ],
    [['--reason', 'CHG-1', '--hash', 'demo-1'], /^--hash "demo-1" is not accepted/],
    [['--reason', 'CHG-1', '--hash', ''], /^--hash "" is not accepted/],
    [['--reason', ' '], /^--reason is empty: give 1 to 400 characters that say why\n$/],
    [['--reason', 'x'.repeat(401)], /^--reason has 401 characters/],
  ])('with %j is refused before anybody is called', async (args, why) => {
    await using account = await waiting();
    const { status, stdout, stderr } = await run(account, command, ...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(why);
    expect(account.calls).toEqual([]);
  });

  it('after the end: nothing is decided', async () => {
    await using account = await waiting();
    account.executions.set('demo-1', { status: 'FAILED', answers: [] });
    expect(await run(account, command, '--reason', 'CHG-1')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^demo-1 does not wait for approval any more .*`imds-rollout status`/,
      ) as string,
    });
    expect(stored(account)).toMatchObject({ awaiting: { hash: HASH } });
  });

  it('of a rack that is not registered: the registered ones are named', async () => {
    await using account = await waiting();
    expect(await run(account, command, '-r', 'other', '--reason', 'CHG-1')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^rack other is not registered with stack .*; registered: demo\nRegister it: /,
      ) as string,
    });
    expect(invoked(account)).toBe(0);
  });

  it('where the function fails: its error is said, and the command is not tried twice', async () => {
    await using account = await waiting();
    account.fault = { errorType: 'TransientError', errorMessage: 'demo-1 takes no answer yet' };
    const { status, stderr } = await run(account, command, '--reason', 'CHG-1');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^the function approve failed: TransientError: demo-1 takes no answer yet\n/);
    expect(stderr).not.toContain('    at ');
    expect(invoked(account)).toBe(1);
  });
});
