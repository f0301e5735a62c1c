/** What every Parameters does, whatever keeps the parameters. */
import { describe, expect, it } from 'vitest';
import type { Parameters, StoredParameter } from '../../rollout/ports.ts';

export interface ParametersSubject extends AsyncDisposable {
  port: Parameters;
  /** A rack that nobody else uses. */
  rack: string;
  /** A person's PutParameter with Overwrite. Throws the port's error of what Parameter Store refuses. */
  set(rack: string, key: string, value: string, type?: StoredParameter['type']): Promise<void>;
  unset(rack: string, key: string): Promise<void>;
}

export function describeParameters(name: string, make: () => Promise<ParametersSubject>): void {
  describe(`Parameters: ${name}`, () => {
    it('are none for a rack that nobody heard of', async () => {
      await using subject = await make();
      expect(await subject.port.list(subject.rack)).toEqual([]);
    });

    it('are listed as they are stored, without anyone who wrote them', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await subject.set(rack, 'imds_http_tokens', ' Required ');
      await subject.set(rack, 'ids', 'a,b', 'StringList');
      const listed = await port.list(rack);
      expect(listed).toEqual([
        { key: 'ids', value: 'a,b', type: 'StringList', version: 1, lastModifiedDate: iso },
        { key: 'imds_http_tokens', value: ' Required ', type: 'String', version: 1, lastModifiedDate: iso },
      ]);
    });

    it('show that one is secret, and not what it is', async () => {
      await using subject = await make();
      await subject.set(subject.rack, 'token', 'hush', 'SecureString');
      const [parameter] = await subject.port.list(subject.rack);
      expect(parameter).toMatchObject({ key: 'token', type: 'SecureString' });
      expect(parameter?.value).not.toBe('hush');
    });

    it('are all listed, however many pages they take', async () => {
      await using subject = await make();
      const keys = Array.from({ length: 23 }, (_, n) => `key_${String(n).padStart(2, '0')}`);
      for (const key of keys) await subject.set(subject.rack, key, 'x');
      expect((await subject.port.list(subject.rack)).map(({ key }) => key)).toEqual(keys);
    });

    it('are those of one rack, and not what lies deeper', async () => {
      await using subject = await make();
      const { rack } = subject;
      await subject.set(rack, 'a', '1');
      await subject.set(`${rack}-2`, 'b', '2');
      await subject.set(rack, 'a/deeper', '3');
      expect((await subject.port.list(rack)).map(({ key }) => key)).toEqual(['a']);
    });

    it('count their versions, and begin again after they were deleted', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      await subject.set(rack, 'a', '1');
      await subject.set(rack, 'a', '2');
      expect((await port.list(rack)).map(({ value, version }) => [value, version])).toEqual([['2', 2]]);
      await subject.unset(rack, 'a');
      expect(await port.list(rack)).toEqual([]);
      expect(await port.history(rack, 'a')).toEqual([]);
      await subject.set(rack, 'a', '3');
      expect((await port.list(rack)).map(({ version }) => version)).toEqual([1]);
    });

    it('have a history, oldest first, with who wrote each version', async () => {
      await using subject = await make();
      const { port, rack } = subject;
      for (const value of ['1', '2', '3']) await subject.set(rack, 'a', value);
      const history = await port.history(rack, 'a');
      expect(history.map(({ key, value, version }) => [key, value, version])).toEqual([
        ['a', '1', 1],
        ['a', '2', 2],
        ['a', '3', 3],
      ]);
      for (const { lastModifiedUser } of history) expect(lastModifiedUser).toMatch(/./);
      expect(await port.history(rack, 'never')).toEqual([]);
    });

    it('cannot be empty', async () => {
      await using subject = await make();
      await expect(subject.set(subject.rack, 'a', '')).rejects.toThrow(
        expect.objectContaining({
          name: 'InvalidError',
          message: expect.stringContaining('Member must have length greater than or equal to 1') as string,
        }),
      );
    });
  });
}

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
