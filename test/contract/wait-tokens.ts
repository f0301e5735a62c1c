/** What every WaitTokens does, whatever keeps them. */
import { describe, expect, it } from 'vitest';
import type { WaitTokens } from '../../rollout/ports.ts';

export interface WaitTokensSubject extends AsyncDisposable {
  port: WaitTokens;
  rack: string;
}

const first = { execution: 'demo-1', token: 'first' };
const second = { execution: 'demo-2', token: 'second' };

export function describeWaitTokens(name: string, make: () => Promise<WaitTokensSubject>): void {
  describe(`WaitTokens: ${name}`, () => {
    it('are none where nothing waits', async () => {
      await using subject = await make();
      expect(await subject.port.read(subject.rack)).toBeUndefined();
      await subject.port.forget(subject.rack, first);
    });

    it('come back in the clear, the last one of each rack', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await port.keep(rack, first);
      await port.keep(rack, second);
      expect(await port.read(rack)).toEqual(second);
      expect(await port.read(`${rack}-2`)).toBeUndefined();
    });

    it('are forgotten once their wait is over, and no other wait’s with them', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await port.keep(rack, second);
      await port.forget(rack, first);
      expect(await port.read(rack)).toEqual(second);
      await port.forget(rack, second);
      expect(await port.read(rack)).toBeUndefined();
    });
  });
}
