/** watch, retry and report --verify on an account: what they end with. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createApiClient } from '../../adapters/cluster/api-client.ts';
import { follow } from '../../cli/follow.ts';
import type { Kept } from '../../cli/reports.ts';
import { verifyReport } from '../../cli/verify.ts';
import type { Scene } from '../../cli/view/scene.ts';
import { TransientError } from '../../rollout/errors.ts';
import { reportKey } from '../../rollout/naming.ts';
import { emptyRecord, type Outcome, type RolloutRecord } from '../../rollout/record.ts';
import type { Report } from '../../rollout/report.ts';
import { retryRollout } from '../../rollout/retry.ts';
import { deploymentOf, newAccount, NOW, type Account } from './registered.ts';

const startedAt = NOW.toISOString();
const scene = { at: NOW, nodes: [] as unknown } as Scene;

function deployed(account: Account) {
  // No cluster is asked.
  const api = createApiClient({
    name: 'demo',
    endpoint: 'https://127.0.0.1',
    certificateAuthority: '',
    token: async () => '',
  });
  return deploymentOf(account, api).ports;
}

const ended = (execution: string, outcome: Outcome): NonNullable<RolloutRecord['last']> => ({
  outcome,
  reason: 'as it was',
  execution,
  endedAt: startedAt,
  parameters: {},
});

const remember = (account: Account, execution: string, outcome: Outcome): void => {
  account.records.set('demo', { ...emptyRecord, last: ended(execution, outcome) });
};

/** Each wait lets the next thing happen. */
async function watched(account: Account, happenings: (() => void)[], look = async () => scene) {
  const notes: string[] = [];
  const ending = await follow({
    ports: deployed(account),
    rack: 'demo',
    scene: look,
    show: () => undefined,
    note: (text) => notes.push(text),
    wait: async () => {
      const next = happenings.shift();
      if (next === undefined) throw new Error('waited for nothing');
      next();
    },
  });
  return { ending, notes };
}

function running(...names: string[]): Account {
  const account = newAccount();
  account.executions = names.map((name) => ({ name, startedAt, status: 'RUNNING' }));
  return account;
}

const finish = (account: Account, name: string): void => {
  account.executions = account.executions.map((each) =>
    each.name === name ? { ...each, status: 'FAILED' } : each,
  );
};

const reportOf = (execution: string, more: Partial<Report> = {}): Report => ({
  schemaVersion: 1,
  rack: 'demo',
  cluster: 'demo',
  execution,
  asked: [],
  generation: null,
  plan: null,
  approval: null,
  class: null,
  instances: [],
  builds: [],
  holds: [],
  blockers: [],
  stragglers: [],
  unknowns: [],
  calls: {},
  cost: { stateTransitions: 0, usd: 0 },
  outcome: 'Superseded',
  reason: 'something newer',
  timeline: [],
  ...more,
});

describe('watch', () => {
  it('ends with the outcome on record', async () => {
    const account = running('demo-1');
    const { ending, notes } = await watched(account, [
      () => undefined,
      () => {
        finish(account, 'demo-1');
        remember(account, 'demo-1', 'Failed');
      },
    ]);
    expect(ending).toEqual({ execution: 'demo-1', outcome: 'Failed', reason: 'as it was' });
    expect(notes).toEqual(['following demo-1']);
  });

  it('goes over to the successor of a rollout that was superseded', async () => {
    const account = running('demo-1');
    account.reports.set(`${reportKey('demo', 'demo-1', startedAt)}.json`, JSON.stringify(reportOf('demo-1')));
    const { ending, notes } = await watched(account, [
      () => {
        finish(account, 'demo-1');
        account.executions.push({ name: 'demo-2', startedAt, status: 'RUNNING' });
      },
      () => {
        finish(account, 'demo-2');
        remember(account, 'demo-2', 'Succeeded');
      },
    ]);
    expect(ending).toMatchObject({ execution: 'demo-2', outcome: 'Succeeded' });
    expect(notes).toEqual(['following demo-1', 'superseded; following demo-2']);
  });

  it('says so where an execution ended without an outcome', async () => {
    const account = running('demo-1');
    const { ending } = await watched(account, [
      () => {
        finish(account, 'demo-1');
      },
    ]);
    expect(ending).toMatchObject({ outcome: null, reason: expect.stringContaining('FAILED') as string });
  });

  it('goes on where one look fails', async () => {
    const account = running('demo-1');
    const look = async (): Promise<Scene> => {
      throw new TransientError('the API server is away');
    };
    const { notes } = await watched(
      account,
      [
        () => {
          finish(account, 'demo-1');
          remember(account, 'demo-1', 'Succeeded');
        },
      ],
      look,
    );
    expect(notes[1]).toBe('could not look: the API server is away');
  });

  it('says how the last one ended where none runs, and where none was', async () => {
    const account = newAccount();
    await expect(watched(account, [])).rejects.toThrow(/^no rollout of rack demo is running, and none was\n/);
    remember(account, 'demo-1', 'Refused');
    expect((await watched(account, [])).ending).toMatchObject({ execution: 'demo-1', outcome: 'Refused' });
  });
});

describe('retry', () => {
  it('starts one, and says after what', async () => {
    const account = newAccount();
    remember(account, 'demo-1', 'Failed');
    const { execution, after } = await retryRollout(deployed(account), 'demo');
    expect([after, account.executions.map(({ name }) => name)]).toEqual(['Failed', [execution]]);
  });

  it('starts none beside one that runs', async () => {
    const account = running('demo-1');
    await expect(retryRollout(deployed(account), 'demo')).rejects.toThrow(/demo-1 of rack demo is running/);
    expect(account.executions).toHaveLength(1);
  });
});

describe('report --verify', () => {
  const key = 'demo/2026/03/02/demo-1.json';
  const after = { httpTokens: 'required', httpPutResponseHopLimit: 1, httpEndpoint: 'enabled' } as const;
  const report = reportOf('demo-1', {
    instances: [
      { node: 'n', instanceId: 'i-1', before: null, after, readAt: null, how: 'launched', why: '' },
    ],
  });
  const body = JSON.stringify(report);
  const sha256 = createHash('sha256').update(body).digest('hex');
  const kept: Kept = { key, body, report };

  function account(hash = sha256, httpTokens: 'required' | 'optional' = 'required'): Account {
    const made = newAccount();
    const last = { ...ended('demo-1', 'Succeeded'), report: { key, sha256: hash } };
    made.records.set('demo', { ...emptyRecord, last });
    made.instances = [
      {
        instanceId: 'i-1',
        state: 'running',
        launchTime: startedAt,
        tags: {},
        metadataOptions: { ...after, httpTokens, state: 'applied' },
      },
    ];
    return made;
  }
  const verify = (of: Account, noticed?: string) => verifyReport(deployed(of), 'demo', kept, noticed);

  it('finds the recorded report and what the account still says', async () => {
    expect(await verify(account())).toMatchObject({
      recorded: { ok: true, words: `unchanged: SHA-256 ${sha256}, as in the record` },
      instances: [{ instanceId: 'i-1', ok: true, words: 'as reported: required/1' }],
    });
  });

  it('finds a report that was changed, by record and by notice', async () => {
    expect((await verify(account('0'.repeat(64)))).recorded.words).toMatch(
      /^CHANGED: .* in the record 0{64}$/,
    );
    expect((await verify(account(), 'f'.repeat(64))).recorded.ok).toBe(false);
  });

  it('needs the notice for a report that the record has left behind', async () => {
    const of = account();
    remember(of, 'demo-2', 'Succeeded');
    expect((await verify(of)).recorded).toMatchObject({
      ok: false,
      words: expect.stringContaining('--sha256') as string,
    });
    expect((await verify(of, sha256)).recorded.ok).toBe(true);
  });

  it('finds an instance that was changed since, and lets one go', async () => {
    expect((await verify(account(sha256, 'optional'))).instances).toEqual([
      { instanceId: 'i-1', ok: false, words: 'httpTokens was required, is optional' },
    ]);
    const of = account();
    of.instances = [];
    expect((await verify(of)).instances[0]).toMatchObject({ ok: true, words: 'is gone since' });
  });
});
