/** What every Approvals does, whatever keeps them. */
import { describe, expect, it } from 'vitest';
import { noApproval, type Approval } from '../../rollout/approval.ts';
import type { Approvals } from '../../rollout/ports.ts';
import { question } from '../rollout/given.ts';

export interface ApprovalsSubject extends AsyncDisposable {
  port: Approvals;
  rack: string;
}

const at = '2026-03-02T09:00:00.000Z';
const written: Approval = {
  schemaVersion: 1,
  awaiting: {
    ...question,
    why: 'it loosens httpPutResponseHopLimit 1 → 2',
    execution: 'demo-1',
    startedAt: at,
    askedAt: at,
    until: '2026-03-09T09:00:00.000Z',
  },
  last: {
    decision: 'rejected',
    hash: 'ba9876543210',
    by: 'arn:aws:sts::123456789012:assumed-role/platform/ada',
    reason: 'not yet – “soon”',
    at,
    execution: 'demo-0',
    looser: [],
  },
};

export function describeApprovals(
  name: string,
  make: () => Promise<ApprovalsSubject>,
  /** `sizes: false` where the store takes values of any size, which Parameter Store does not. */
  { sizes = true } = {},
): void {
  describe(`Approvals: ${name}`, () => {
    it('are none where nobody was ever asked', async () => {
      await using subject = await make();
      expect(await subject.port.read(subject.rack)).toEqual(noApproval);
    });

    it('come back as they were last written, each rack its own', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await port.write(rack, noApproval);
      await port.write(rack, written);
      expect(await port.read(rack)).toEqual(written);
      expect(await port.read(`${rack}-2`)).toEqual(noApproval);
    });

    it.runIf(sizes)('that are too large are refused, and what was there stays', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await port.write(rack, written);
      const large = { ...written.last, reason: 'x'.repeat(5000) } as NonNullable<Approval['last']>;
      await expect(port.write(rack, { ...written, last: large })).rejects.toThrow(
        expect.objectContaining({ name: 'InvalidError' }),
      );
      expect(await port.read(rack)).toEqual(written);
    });
  });
}
