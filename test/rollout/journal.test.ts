/** Evidence read back from a bucket that throttles: many pages, of which some do not answer at once. */
import { describe, expect, it } from 'vitest';
import { TransientError } from '../../rollout/errors.ts';
import { readJournal } from '../../rollout/journal.ts';
import type { Reports } from '../../rollout/ports.ts';

const of = { rack: 'demo', execution: 'demo-1', startedAt: '2026-03-02T09:00:00.000Z' };

/** 300 pages of one note each; `isThrottled` by the number of the call. */
function bucket(isThrottled: (call: number) => boolean): { reports: Reports; calls: () => number } {
  let calls = 0;
  const keys = Array.from({ length: 300 }, (_, page) => `page-${String(page).padStart(3, '0')}`);
  const reports: Reports = {
    put: () => Promise.resolve(),
    list: () => Promise.resolve(keys),
    get: (key) => {
      calls += 1;
      if (isThrottled(calls)) return Promise.reject(new TransientError(`s3:GetObject ${key}: SlowDown`));
      return Promise.resolve(JSON.stringify([{ what: 'note', at: of.startedAt, text: key }]));
    },
  };
  return { reports, calls: () => calls };
}

describe('the evidence', () => {
  it('is read whole where one page in ten does not answer, and asks again for those alone', async () => {
    const { reports, calls } = bucket((call) => call % 10 === 0);
    expect(await readJournal({ reports }, of)).toHaveLength(300);
    expect(calls()).toBeLessThan(340);
  });

  it('is not asked for for ever where nothing answers any more', async () => {
    const { reports, calls } = bucket((call) => call > 100);
    await expect(readJournal({ reports }, of)).rejects.toThrow(TransientError);
    expect(calls()).toBe(500);
  });
});
