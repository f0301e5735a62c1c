/**
 * An upgrade of the stack in the middle of a rollout: payloads and the record were written by the version before.
 * They are kept here as they were; where one is no longer read, the schema needs a new version that still reads this.
 */
import { describe, expect, it } from 'vitest';
import { recordSchema } from '../../rollout/record.ts';
import { onRack, RACK, type Rack } from './rack.ts';
import { plan, until } from './play.ts';

/** Of version 0.1.0, with every field that it wrote. */
const ROLLING = {
  schemaVersion: 1,
  rack: 'demo',
  execution: 'demo-1',
  startedAt: '2026-03-02T09:00:00.000Z',
  looks: 3,
  next: 'look',
  lookAgainIn: 20,
  generation: 'filled in below',
  target: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
  restoring: [],
  policy: {
    strategy: 'graceful',
    deadline: 3600,
    stragglers: 'modify',
    drainTimeout: 43_200,
    classWriter: 'service',
    approval: 'loosening',
  },
  patchedAt: '2026-03-02T09:00:05.000Z',
  lastPatchAt: '2026-03-02T09:00:05.000Z',
  wholeLookAt: '2026-03-02T09:00:10.000Z',
  counts: { right: 0, wrong: 2, unknown: 0, off: 0, held: 2, buildsOnHeldNodes: 1, waitingBuilds: 0 },
  oldestHoldSince: '2026-03-02T09:00:00.000Z',
  waitsFor: 'wrong: busy, idle',
};

const CONCLUDING = {
  schemaVersion: 1,
  rack: 'demo',
  execution: 'demo-1',
  startedAt: '2026-03-02T09:00:00.000Z',
  looks: 3,
  next: 'conclude',
  outcome: 'Failed',
  reason: 'still wrong at the deadline: busy',
  generation: 'any',
  target: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
  restoring: [],
  strategy: 'graceful',
  counts: { right: 1, wrong: 1, unknown: 0, off: 0, held: 1, buildsOnHeldNodes: 1, waitingBuilds: 0 },
  parameters: { karpenter_build_imds_tokens: '2026-03-02T09:00:00.000Z' },
};

const RECORD = {
  schemaVersion: 1,
  classUid: 'a-uid',
  baseline: { httpTokens: 'optional', httpPutResponseHopLimit: 3 },
  ask: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
  generation: 'any',
  patchedAt: '2026-03-02T09:00:05.000Z',
  lastPatchAt: '2026-03-02T09:00:05.000Z',
  hashBefore: '1234567890',
  prior: { httpTokens: 'optional', httpPutResponseHopLimit: 3 },
  takingBack: { since: '2026-03-02T09:10:00.000Z', why: 'the class is not Ready' },
  reapplied: [{ at: '2026-03-02T09:05:00.000Z', classGeneration: 3 }],
  holdsMayExist: true,
  takenOverAt: '2026-03-02T08:59:00.000Z',
  last: {
    outcome: 'Succeeded',
    reason: 'all is well',
    execution: 'demo-0',
    endedAt: '2026-03-01T09:00:00.000Z',
    generation: 'before',
    parameters: { imds_http_tokens: '2026-03-01T08:00:00.000Z' },
    report: { key: 'demo/2026/03/01/demo-0.json', sha256: 'ab' },
  },
};

/** A rollout on its way: with the generation that the parameters of the rack have now. */
async function looking(rack: Rack): Promise<{ generation?: string }> {
  const state = await until(rack, await plan(rack), ({ next }) => next === 'look');
  return 'generation' in state ? { generation: state.generation } : {};
}

describe('what the version before wrote', () => {
  it.each(['observe', 'hold-and-patch', 'modify-stragglers', 'take-back'] as const)('goes on at %s', (task) =>
    onRack(RACK, async (rack) => {
      const { generation = '' } = await looking(rack);
      const next = await rack.task(task, { ...ROLLING, generation });
      expect(next).toMatchObject({ rack: 'demo', execution: 'demo-1', generation });
      expect(next).not.toHaveProperty('outcome');
    }),
  );

  it('is concluded', () =>
    onRack(RACK, async (rack) => {
      await until(rack, await plan(rack), ({ next }) => next === 'look');
      expect(await rack.task('conclude', CONCLUDING)).toMatchObject({
        outcome: 'Failed',
        reason: expect.stringMatching(/^still wrong at the deadline: busy/) as string,
      });
    }));

  it('is remembered', () => {
    expect(recordSchema.parse(RECORD)).toEqual(RECORD);
  });
});
