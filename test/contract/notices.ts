/** What every Notices does, whichever bus it is. */
import { describe, expect, it } from 'vitest';
import type { Notices } from '../../rollout/ports.ts';

export interface NoticesSubject extends AsyncDisposable {
  port: Notices;
  /** How many events of the service have reached the bus. */
  arrived(): Promise<number>;
}

export function describeNotices(name: string, make: () => Promise<NoticesSubject>): void {
  describe(`Notices: ${name}`, () => {
    it('arrive, each time', async () => {
      await using subject = await make();
      expect(await subject.arrived()).toBe(0);
      const notice = { type: 'IMDS Rollout Succeeded', detail: { rack: 'demo', counts: { right: 3 } } };
      await subject.port.send(notice);
      await subject.port.send(notice);
      expect(await subject.arrived()).toBe(2);
    });
  });
}
