/** The function approve: what is in its log lines, whatever the environment says and whatever fails. */
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createHandler } from '../../functions/approve/create-handler.ts';
import { noApproval } from '../../rollout/approval.ts';
import type { ApprovePorts } from '../../rollout/approve.ts';
import { TransientError } from '../../rollout/errors.ts';

const TOKEN = 'the-token-of-the-wait';
const startedAt = '2026-03-02T09:00:00.000Z';
const question = {
  hash: '0123456789ab',
  generation: 'g',
  class: 'build',
  classUid: 'uid',
  changes: [{ option: 'httpPutResponseHopLimit', from: 1, to: 2 }],
  looser: ['httpPutResponseHopLimit'],
  strategy: 'graceful',
  owners: [],
  why: 'it loosens httpPutResponseHopLimit 1 → 2',
};
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
    registrations: async () => [{ rack: 'demo', cluster: 'demo', nodePool: 'build' }],
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
  expect(lines.join('')).toContain('asked');
  expect(lines.join('')).not.toContain(TOKEN);
});

it.each([
  ['the store does not answer', event],
  ['the event is of another shape', { ...event, state: { ...state, looks: 'many' } }],
])('fails where %s, and no line has the token', async (_what, given) => {
  const handler = createHandler(ports(() => Promise.reject(new TransientError('throttled'))));
  await expect(handler(given, context)).rejects.toThrow(/^(?!.*the-token)/s);
  expect(lines.join('')).toContain('failed');
  expect(lines.join('')).not.toContain(TOKEN);
});
