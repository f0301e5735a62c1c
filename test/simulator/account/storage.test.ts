import { expect, test } from 'vitest';
import { emptyRecord } from '../../../rollout/record.ts';
import { inWorld } from './world.ts';

test('versions count up, and start again after a delete', async () => {
  await inWorld({}, async ({ account, until }) => {
    const { parameterStore, ports } = account;
    parameterStore.set('demo', 'imds_http_tokens', 'optional');
    await until(60_000);
    parameterStore.set('demo', 'imds_http_tokens', 'required');
    expect(await ports.parameters.list('demo')).toMatchObject([
      {
        key: 'imds_http_tokens',
        value: 'required',
        version: 2,
        lastModifiedDate: '2026-03-02T09:01:00.000Z',
      },
    ]);
    expect((await ports.parameters.history('demo', 'imds_http_tokens')).map(({ value }) => value)).toEqual([
      'optional',
      'required',
    ]);
    parameterStore.unset('demo', 'imds_http_tokens');
    expect(await ports.parameters.list('demo')).toEqual([]);
    parameterStore.set('demo', 'imds_http_tokens', 'required');
    expect(await ports.parameters.list('demo')).toMatchObject([{ version: 1 }]);
    expect(await ports.parameters.list('dem')).toEqual([]);
  });
});

test('an empty value is refused in the words of Parameter Store, and nothing changes', async () => {
  await inWorld({}, async ({ account, gate }) => {
    expect(() => {
      account.parameterStore.set('demo', 'imds_http_tokens', '');
    }).toThrow(
      "Value at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
    expect(() => {
      account.parameterStore.unset('demo', 'imds_http_tokens');
    }).toThrow('ParameterNotFound');
    expect(gate.audit).toEqual([]);
  });
});

test('a record is what was written, and no larger than a standard parameter', async () => {
  await inWorld({}, async ({ account }) => {
    const { records } = account.ports;
    expect(await records.read('demo')).toEqual(emptyRecord);
    const record = { ...emptyRecord, holdsMayExist: true };
    await records.write('demo', record);
    record.holdsMayExist = false;
    expect(await records.read('demo')).toEqual({ ...emptyRecord, holdsMayExist: true });
    const tooLarge = { ...emptyRecord, classUid: 'x'.repeat(4_097) };
    await expect(records.write('demo', tooLarge)).rejects.toThrow('4096');
    expect(await records.read('demo')).toEqual({ ...emptyRecord, holdsMayExist: true });
  });
});

test('the bucket keeps versions, and lists keys in order', async () => {
  await inWorld({}, async ({ account }) => {
    const { reports } = account.ports;
    await reports.put('demo/b.json', '1', 'application/json');
    await reports.put('demo/a.json', '1', 'application/json');
    await reports.put('demo/b.json', '2', 'application/json');
    expect(await reports.list('demo/')).toEqual(['demo/a.json', 'demo/b.json']);
    expect(await reports.list('other/')).toEqual([]);
    expect(await reports.get('demo/b.json')).toBe('2');
    expect(account.reports.versions.get('demo/b.json')).toHaveLength(2);
  });
});
