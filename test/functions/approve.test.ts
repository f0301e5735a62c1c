/** The function approve: what is in its log lines, whatever the environment says and whatever fails. */
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createHandler } from '../../functions/approve/create-handler.ts';
import { noApproval } from '../../rollout/approval.ts';
import type { ApprovePorts } from '../../rollout/approve.ts';
import { TransientError } from '../../rollout/errors.ts';
import { question } from '../rollout/given.ts';

const TOKEN = 'the-token-of-the-wait';
const startedAt = '2026-03-02T09:00:00.000Z';
const state = {
  schemaVersion: 1,
  rack: 'demo',
  execution: 'demo-1',
  startedAt,
  looks: 0,
  next: 'await-approval',
  question,
  waitsFor: 'a person',
};
const event = { execution: 'demo-1', startedAt, state, token: TOKEN };

const ports = (keep: ApprovePorts['waitTokens']['keep']): ApprovePorts => ({
  clock: { now: () => new Date(startedAt) },
  records: {
    registrations: () => Promise.reject(new Error('not swept')),
    registration: async () => ({ rack: 'demo', cluster: 'demo', nodePool: 'build' }),
    read: () => Promise.reject(new Error('not read')),
    write: () => Promise.reject(new Error('not written')),
  },
  approvals: {
    read: async () => noApproval,
    write: async () => undefined,
  },
  waitTokens: { read: async () => undefined, keep, forget: async () => undefined },
  identities: { verify: async () => 'somebody' },
  workflow: {
    start: async () => 'started',
    running: async () => [],
    describe: async () => undefined,
    answer: async () => 'answered',
    answers: async () => [],
  },
  notices: { send: async () => undefined },
});

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.stubEnv('POWERTOOLS_LOGGER_LOG_EVENT', 'true');
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'DEBUG');
  vi.stubEnv('POWERTOOLS_TRACE_ENABLED', 'false');
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const context = { functionName: 'approve', awsRequestId: 'x' } as Context;

it('asks, and no line has the token', async () => {
  const kept: string[] = [];
  const handler = createHandler(
    ports(async (_rack, { token }) => {
      kept.push(token);
    }),
  );
  expect(await handler(event, context)).toEqual({ rack: 'demo' });
  expect(kept).toEqual([TOKEN]);
  const asked = lines.find((line) => line.includes('"asked"')) ?? '{}';
  expect(JSON.parse(asked)).toMatchObject({ rack: 'demo', execution: 'demo-1', generation: 'g' });
  expect(lines.join('')).not.toContain(TOKEN);
});

it.each([
  ['the store does not answer', event],
  ['the event is of another shape', { ...event, state: { ...state, looks: 'many' } }],
  ['the event is of no form', { ...event, state: { ...state, next: 'look' } }],
])('fails where %s, and no line has the token', async (_what, given) => {
  const handler = createHandler(ports(() => Promise.reject(new TransientError('throttled'))));
  await expect(handler(given, context)).rejects.toThrow(/^(?!.*the-token)/s);
  expect(lines.join('')).toContain('failed');
  expect(lines.join('')).not.toContain(TOKEN);
});

it.each([
  [
    'is none at all',
    'nonsense',
    /^the event is none of approve: accepted is .*"await-approval".*"end-wait".*identity/,
  ],
  [
    'has a state of another step',
    { ...event, state: { ...state, next: 'look' } },
    /^the event is none of approve/,
  ],
  [
    'lacks its token',
    { execution: 'demo-1', startedAt, state },
    /^the event of the form await-approval is wrong: token: /,
  ],
  [
    'has more than the end of a wait has',
    { ...event, state: { ...state, next: 'end-wait' } },
    /^the event of the form end-wait is wrong: /,
  ],
  [
    'is half a decision',
    { decision: 'approved', rack: 'demo', identity: TOKEN },
    /^the event of the form decision is wrong: hash: .*reason: /,
  ],
])('refuses an event that %s, by the form that it has', async (_what, given, why) => {
  const refused = createHandler(ports(async () => undefined))(given, context);
  await expect(refused).rejects.toThrow(expect.objectContaining({ name: 'InvalidError' }));
  await expect(refused).rejects.toThrow(why);
  expect(lines.join('')).not.toContain(TOKEN);
});

it('logs of a decision whose rollout it is about, and nothing of the proof', async () => {
  const awaiting = {
    ...question,
    execution: 'demo-1',
    startedAt,
    askedAt: startedAt,
    until: '2026-03-09T09:00:00.000Z',
  };
  const given = ports(async () => undefined);
  const approvals = {
    ...given.approvals,
    read: async () => ({ schemaVersion: 1 as const, awaiting: awaiting as never }),
  };
  const waitTokens = { ...given.waitTokens, read: async () => ({ execution: 'demo-1', token: TOKEN }) };
  const handler = createHandler({ ...given, approvals, waitTokens });
  const request = {
    rack: 'demo',
    hash: question.hash,
    decision: 'approved',
    reason: 'CHG-1',
    identity: 'the-proof',
  };
  expect(await handler(request, context)).toMatchObject({ by: 'somebody', execution: 'demo-1' });
  const decided = lines.find((line) => line.includes('"decided"')) ?? '{}';
  expect(JSON.parse(decided)).toMatchObject({
    rack: 'demo',
    execution: 'demo-1',
    generation: 'g',
    by: 'somebody',
  });
  expect(lines.join('')).not.toMatch(/the-token|the-proof/);
});
