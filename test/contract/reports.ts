/** What every Reports does, whatever bucket it is. */
import { describe, expect, it } from 'vitest';
import type { Reports } from '../../rollout/ports.ts';

export interface ReportsSubject extends AsyncDisposable {
  /** Of an empty bucket. */
  port: Reports;
}

export function describeReports(name: string, make: () => Promise<ReportsSubject>): void {
  describe(`Reports: ${name}`, () => {
    it('are read as they were last put', async () => {
      await using subject = await make();
      const { port } = subject;
      await port.put('demo/2026/03/02/demo-1.html', '<p>first', 'text/html');
      await port.put('demo/2026/03/02/demo-1.html', '<p>Grüße, 世界', 'text/html');
      expect(await port.get('demo/2026/03/02/demo-1.html')).toBe('<p>Grüße, 世界');
    });

    it('are not there where none was put', async () => {
      await using subject = await make();
      expect(await subject.port.get('demo/none')).toBeUndefined();
      expect(await subject.port.list('demo/')).toEqual([]);
    });

    it('are listed by prefix, in order', async () => {
      await using subject = await make();
      for (const key of ['demo/b', 'demo/a', 'demo-2/a', 'demo/a/1', 'other/a']) {
        await subject.port.put(key, 'x', 'text/plain');
      }
      expect(await subject.port.list('demo/')).toEqual(['demo/a', 'demo/a/1', 'demo/b']);
      expect(await subject.port.list('demo')).toEqual(['demo-2/a', 'demo/a', 'demo/a/1', 'demo/b']);
    });
  });
}
