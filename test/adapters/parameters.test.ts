import {
  GetParameterCommand,
  GetParameterHistoryCommand,
  GetParametersByPathCommand,
  PutParameterCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createParameters } from '../../adapters/parameters.ts';
import { createRecords } from '../../adapters/records.ts';
import { emptyRecord } from '../../rollout/record.ts';

const client = new SSMClient({ region: 'eu-west-1' });
const ssm = mockClient(client);
afterEach(() => ssm.reset());

const LastModifiedDate = new Date('2026-03-02T09:00:00Z');
const stored = (Name: string, Value: string, more: object = {}) => ({
  Name,
  Value,
  Type: 'String' as const,
  Version: 1,
  LastModifiedDate,
  ...more,
});
const notFound = Object.assign(new Error(''), { name: 'ParameterNotFound', $metadata: {} });

describe('parameters', () => {
  const parameters = createParameters(client, '/racks/');

  it('are read to the last page, over empty ones, ten at a time and never decrypted', async () => {
    ssm
      .on(GetParametersByPathCommand)
      .resolvesOnce({ Parameters: [], NextToken: 'a' })
      .resolvesOnce({ Parameters: [stored('/racks/demo/imds_http_tokens', 'required')], NextToken: 'b' })
      .resolvesOnce({ NextToken: 'c' })
      .resolvesOnce({ Parameters: [stored('/racks/demo/a', 'x,y', { Type: 'StringList', Version: 7 })] });
    expect(await parameters.list('demo')).toEqual([
      {
        key: 'a',
        value: 'x,y',
        type: 'StringList',
        version: 7,
        lastModifiedDate: '2026-03-02T09:00:00.000Z',
      },
      {
        key: 'imds_http_tokens',
        value: 'required',
        type: 'String',
        version: 1,
        lastModifiedDate: '2026-03-02T09:00:00.000Z',
      },
    ]);
    expect(ssm).toHaveReceivedCommandTimes(GetParametersByPathCommand, 4);
    expect(ssm).toHaveReceivedNthCommandWith(GetParametersByPathCommand, 4, {
      Path: '/racks/demo',
      Recursive: false,
      WithDecryption: false,
      MaxResults: 10,
      NextToken: 'c',
    });
  });

  it('have a history, oldest first, with its users', async () => {
    ssm
      .on(GetParameterHistoryCommand, { Name: '/racks/demo/a', WithDecryption: false })
      .resolvesOnce({
        Parameters: [stored('', 'new', { Version: 2, LastModifiedUser: 'ann' })],
        NextToken: 'more',
      })
      .resolvesOnce({ Parameters: [stored('', 'old')] });
    expect(await parameters.history('demo', 'a')).toMatchObject([
      { key: 'a', value: 'old', version: 1 },
      { key: 'a', value: 'new', version: 2, lastModifiedUser: 'ann' },
    ]);
  });

  it('have none where there is no parameter, which is not any other error', async () => {
    const throttled = Object.assign(new Error('Rate exceeded'), {
      name: 'ThrottlingException',
      $metadata: {},
    });
    ssm.on(GetParameterHistoryCommand).rejectsOnce(notFound).rejects(throttled);
    expect(await parameters.history('demo', 'a')).toEqual([]);
    await expect(parameters.history('demo', 'a')).rejects.toThrow(
      expect.objectContaining({ name: 'TransientError' }),
    );
  });

  it('that Parameter Store shows only half are not guessed', async () => {
    ssm.on(GetParametersByPathCommand).resolves({ Parameters: [{ Name: '/racks/demo/a', Value: 'x' }] });
    await expect(parameters.list('demo')).rejects.toThrow('/racks/demo/a');
  });
});

describe('records', () => {
  const records = createRecords(client, '/imds-rollout/racks/');

  it('are empty where none was written', async () => {
    ssm.on(GetParameterCommand, { Name: '/imds-rollout/racks/demo/record' }).rejects(notFound);
    expect(await records.read('demo')).toEqual(emptyRecord);
  });

  it.each([
    ['not JSON', 'nonsense'],
    ['of another version', '{"schemaVersion":2,"baseline":{},"holdsMayExist":false}'],
    ['with more in it than is known', '{"schemaVersion":1,"baseline":{},"holdsMayExist":false,"more":1}'],
    ['empty', undefined],
  ])('that are %s are an error that names them, never an empty record', async (_what, Value) => {
    ssm.on(GetParameterCommand).resolves({ Parameter: { Value } });
    await expect(records.read('demo')).rejects.toThrow(
      expect.objectContaining({
        name: 'UnreadableRecord',
        message: expect.stringContaining('/imds-rollout/racks/demo/record') as string,
      }),
    );
  });

  it('come back as they were written', async () => {
    const record = { ...emptyRecord, baseline: { httpTokens: 'optional' as const }, holdsMayExist: true };
    await records.write('demo', record);
    expect(ssm).toHaveReceivedCommandExactlyOnceWith(PutParameterCommand, {
      Name: '/imds-rollout/racks/demo/record',
      Type: 'String',
      Overwrite: true,
      Value: JSON.stringify(record),
    });
    ssm.on(GetParameterCommand).resolves({ Parameter: { Value: JSON.stringify(record) } });
    expect(await records.read('demo')).toEqual(record);
  });

  it('stand beside registrations', async () => {
    const registration = { rack: 'demo', cluster: 'demo-eks', nodePool: 'build' };
    ssm
      .on(GetParametersByPathCommand, { Path: '/imds-rollout/racks', Recursive: true })
      .resolvesOnce({ Parameters: [stored('/imds-rollout/racks/demo/record', '{}')], NextToken: 'more' })
      .resolvesOnce({
        Parameters: [stored('/imds-rollout/racks/demo/registration', JSON.stringify(registration))],
      });
    expect(await records.registrations()).toEqual([registration]);
  });

  it('name a registration that cannot be read', async () => {
    ssm
      .on(GetParametersByPathCommand)
      .resolves({ Parameters: [stored('/imds-rollout/racks/demo/registration', '{"rack":"demo"}')] });
    await expect(records.registrations()).rejects.toThrow(/racks\/demo\/registration.*cluster/);
  });
});
