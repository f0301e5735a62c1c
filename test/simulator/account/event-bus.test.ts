import { expect, test } from 'vitest';
import type { EventFate } from '../../../simulator/account/event-bus.ts';
import { inWorld, startsAt } from './world.ts';

interface Arrival {
  /** Milliseconds after the start. */
  at: number;
  event: unknown;
}

/** The events that reach `parameter-changed` when two parameters are set in one breath. */
async function arrivals(fate?: EventFate): Promise<Arrival[]> {
  const seen: Arrival[] = [];
  const functions = {
    'parameter-changed': (event: unknown) => {
      seen.push({ at: Date.now() - startsAt.getTime(), event });
    },
  };
  await inWorld({ functions }, async ({ account, until }) => {
    account.eventBus.withFate(fate, () => {
      account.parameterStore.set('demo', 'imds_http_tokens', 'required');
      account.parameterStore.set('demo', 'imds_http_hop_limit', '1');
    });
    await until(600_000);
  });
  return seen;
}

test("Parameter Store's event has its real form, and comes 0.5 to 3 s after the write", async () => {
  const seen = await arrivals();
  expect(seen).toHaveLength(2);
  for (const { at } of seen) {
    expect(at).toBeGreaterThanOrEqual(500);
    expect(at).toBeLessThanOrEqual(3_000);
  }
  const tokens = seen.find(({ event }) => JSON.stringify(event).includes('imds_http_tokens'));
  expect(tokens?.event).toEqual({
    version: '0',
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/) as unknown,
    'detail-type': 'Parameter Store Change',
    source: 'aws.ssm',
    account: '123456789012',
    time: '2026-03-02T09:00:00Z',
    region: 'eu-west-1',
    resources: ['arn:aws:ssm:eu-west-1:123456789012:parameter/racks/demo/imds_http_tokens'],
    detail: { operation: 'Create', name: '/racks/demo/imds_http_tokens', type: 'String' },
  });
});

test('events are lost, doubled and late as the scenario says', async () => {
  expect(await arrivals({ fate: 'lost' })).toHaveLength(0);
  expect(await arrivals({ fate: 'doubled' })).toHaveLength(4);
  const late = await arrivals({ fate: 'late', by: 120_000 });
  expect(late).toHaveLength(2);
  for (const { at } of late) expect(at).toBeGreaterThanOrEqual(120_500);
});

test('the fate of one write is not that of the next', async () => {
  let seen = 0;
  await inWorld({ functions: { 'parameter-changed': () => (seen += 1) } }, async ({ account, until }) => {
    account.eventBus.withFate({ fate: 'lost' }, () => {
      account.parameterStore.set('demo', 'release', '3.24.10');
    });
    account.parameterStore.set('demo', 'release', '3.24.11');
    await until(10_000);
  });
  expect(seen).toBe(1);
});

test('an execution that ends badly reaches rollout-ended, one that ends well does not', async () => {
  const seen: unknown[] = [];
  const functions = {
    plan: (event: unknown) => {
      if (JSON.stringify(event).includes('bad')) throw new Error('broken');
      return {};
    },
    'rollout-ended': (event: unknown) => {
      seen.push(event);
    },
  };
  await inWorld({ functions }, async ({ account, until }) => {
    await account.ports.workflow.start('good-1', 'good');
    await account.ports.workflow.start('bad-1', 'bad');
    await until(10_000);
  });
  expect(seen).toMatchObject([
    {
      source: 'aws.states',
      'detail-type': 'Step Functions Execution Status Change',
      resources: ['arn:aws:states:eu-west-1:123456789012:execution:imds-rollout:bad-1'],
      detail: {
        name: 'bad-1',
        status: 'FAILED',
        startDate: startsAt.getTime(),
        stopDate: startsAt.getTime(),
        input: '{"rack":"bad"}',
        output: null,
        error: 'Error',
      },
    },
  ]);
});

test('reconcile comes after two minutes, and every two minutes', async () => {
  const seen: number[] = [];
  const functions = {
    reconcile: (event: unknown) => {
      expect(event).toMatchObject({ 'detail-type': 'Scheduled Event', source: 'aws.events', detail: {} });
      seen.push((Date.now() - startsAt.getTime()) / 60_000);
    },
  };
  await inWorld({ functions }, async ({ account, until }) => {
    account.eventBus.startSchedule();
    await until(361_000);
  });
  expect(seen).toEqual([2, 4, 6]);
});
