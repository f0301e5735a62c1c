/** What every MetadataMetrics does, whatever counts. */
import { describe, expect, it } from 'vitest';
import type { MetadataMetrics } from '../../rollout/ports.ts';

export interface MetricsSubject extends AsyncDisposable {
  port: MetadataMetrics;
  /** Instances with optional tokens: one with these counts of MetadataNoToken, one without any datapoint. */
  counted: { instanceId: string; sum: number };
  silent: string;
  /** One with CPUUtilization and nothing rejected, and one of which nothing at all was measured. */
  quiet: string;
  unmeasured: string;
  since: Date;
  until: Date;
}

export function describeMetadataMetrics(name: string, make: () => Promise<MetricsSubject>): void {
  describe(`MetadataMetrics: ${name}`, () => {
    it('sums by instance, and leaves out what was not measured', async () => {
      await using subject = await make();
      const { counted, silent, since, until } = subject;
      const sums = await subject.port.sums({
        metric: 'MetadataNoToken',
        instanceIds: [silent, counted.instanceId],
        since,
        until,
      });
      expect([...sums]).toEqual([[counted.instanceId, counted.sum]]);
    });

    it('does not take one metric for the other, and asks about nobody where nobody is named', async () => {
      await using subject = await make();
      const { counted, since, until } = subject;
      const rejected = { metric: 'MetadataNoTokenRejected', since, until } as const;
      expect((await subject.port.sums({ ...rejected, instanceIds: [counted.instanceId] })).size).toBe(0);
      expect((await subject.port.sums({ ...rejected, instanceIds: [] })).size).toBe(0);
    });

    it('knows of no rejection where the instance was measured, and of nothing where it was not', async () => {
      await using subject = await make();
      const { quiet, unmeasured, since, until } = subject;
      const found = await subject.port.rejections({ instanceIds: [unmeasured, quiet], since, until });
      expect([...found.keys()]).toEqual([quiet]);
      const { count, measured = [] } = found.get(quiet) ?? {};
      expect(count).toBe(0);
      expect(measured.length).toBeGreaterThan(0);
      for (const from of measured) {
        expect(from.getTime() % 300_000).toBe(0);
        expect(from.getTime()).toBeGreaterThan(since.getTime() - 300_000);
        expect(from.getTime()).toBeLessThan(until.getTime());
      }
      expect((await subject.port.rejections({ instanceIds: [], since, until })).size).toBe(0);
    });
  });
}
