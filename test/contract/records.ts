/** What every Records does, whatever keeps them. */
import { describe, expect, it } from 'vitest';
import type { Records, Registration } from '../../rollout/ports.ts';
import { emptyRecord, type RolloutRecord } from '../../rollout/record.ts';

export interface RecordsSubject extends AsyncDisposable {
  port: Records;
  rack: string;
  /** What `rack add` leaves behind. */
  register(registration: Registration): Promise<void>;
  /** By hand: whatever text in the place of the rack's record. */
  overwrite(rack: string, text: string): Promise<void>;
}

const written: RolloutRecord = {
  schemaVersion: 1,
  classUid: 'b7e2',
  baseline: { httpTokens: 'optional' },
  ask: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
  holdsMayExist: true,
  last: {
    outcome: 'Failed',
    reason: 'build-1 is still wrong',
    execution: 'demo-1',
    endedAt: '2026-03-02T09:00:00.000Z',
    parameters: {},
  },
};

export function describeRecords(
  name: string,
  make: () => Promise<RecordsSubject>,
  /** `sizes: false` where the store takes values of any size, which Parameter Store does not. */
  { sizes = true } = {},
): void {
  describe(`Records: ${name}`, () => {
    it('are empty where none was written', async () => {
      await using subject = await make();
      expect(await subject.port.read(subject.rack)).toEqual(emptyRecord);
    });

    it('come back as they were last written', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await port.write(rack, { ...emptyRecord, holdsMayExist: true });
      await port.write(rack, written);
      expect(await port.read(rack)).toEqual(written);
      expect(await port.read(`${rack}-2`)).toEqual(emptyRecord);
    });

    it.runIf(sizes)(
      'have the size of a standard parameter: what is larger is refused, and what was there stays',
      async () => {
        await using subject = await make();
        const { port, rack } = subject;
        await port.write(rack, written);
        await expect(port.write(rack, { ...written, classUid: 'x'.repeat(5000) })).rejects.toThrow(
          expect.objectContaining({ name: 'InvalidError' }),
        );
        expect(await port.read(rack)).toEqual(written);
      },
    );

    it.each([
      ['no JSON', 'nonsense'],
      ['of a later version', JSON.stringify({ ...emptyRecord, schemaVersion: 2 })],
    ])('that are %s are an error that names them', async (_what, text) => {
      await using subject = await make();
      await subject.overwrite(subject.rack, text);
      await expect(subject.port.read(subject.rack)).rejects.toThrow(
        expect.objectContaining({
          name: 'UnreadableRecord',
          message: expect.stringContaining(`${subject.rack}/record`) as string,
        }),
      );
    });

    it('know every registration, also of racks without a record', async () => {
      await using subject = await make();
      const registrations = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => ({
        rack: `${subject.rack}-${letter}`,
        cluster: `eks-${letter}`,
        nodePool: 'build',
      }));
      for (const registration of registrations) {
        await subject.register(registration);
        if (registration.cluster !== 'eks-a') await subject.port.write(registration.rack, written);
      }
      expect(await subject.port.registrations()).toEqual(registrations);
      expect(await subject.port.registration(`${subject.rack}-b`)).toEqual(registrations[1]);
      expect(await subject.port.registration(subject.rack)).toBeUndefined();
    });
  });
}
