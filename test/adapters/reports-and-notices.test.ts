import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import 'aws-sdk-client-mock-vitest/extend';
import { afterEach, describe, expect, it } from 'vitest';
import { createNotices } from '../../adapters/notices.ts';
import { createReports } from '../../adapters/reports.ts';

const s3Client = new S3Client({ region: 'eu-west-1' });
const s3 = mockClient(s3Client);
const busClient = new EventBridgeClient({ region: 'eu-west-1' });
const bus = mockClient(busClient);
afterEach(() => {
  s3.reset();
  bus.reset();
});
const failure = (name: string): Error => Object.assign(new Error('words'), { name, $metadata: {} });

describe('reports', () => {
  const reports = createReports(s3Client, 'evidence');

  it('are put with their type', async () => {
    await reports.put('demo/a.html', '<p>', 'text/html');
    expect(s3).toHaveReceivedCommandExactlyOnceWith(PutObjectCommand, {
      Bucket: 'evidence',
      Key: 'demo/a.html',
      Body: '<p>',
      ContentType: 'text/html',
    });
  });

  it('are not there where S3 says so, and only then', async () => {
    s3.on(GetObjectCommand).rejectsOnce(failure('NoSuchKey'));
    expect(await reports.get('demo/a.html')).toBeUndefined();
    for (const [code, name] of [
      ['NoSuchBucket', 'NotFoundError'],
      ['AccessDenied', 'ForbiddenError'],
    ] as const) {
      s3.reset();
      s3.on(GetObjectCommand).rejects(failure(code));
      await expect(reports.get('demo/a.html')).rejects.toThrow(expect.objectContaining({ name }));
    }
  });

  it('are listed to the last page, in order', async () => {
    s3.on(ListObjectsV2Command, { Bucket: 'evidence', Prefix: 'demo/' })
      .resolvesOnce({ Contents: [{ Key: 'demo/b' }], IsTruncated: true, NextContinuationToken: 'more' })
      .resolvesOnce({ Contents: [{ Key: 'demo/a' }] });
    expect(await reports.list('demo/')).toEqual(['demo/a', 'demo/b']);
  });
});

describe('notices', () => {
  const notices = createNotices(busClient);
  const notice = { type: 'IMDS Rollout Succeeded', detail: { rack: 'demo' } };

  it('are events of the service', async () => {
    bus.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [{ EventId: 'x' }] });
    await notices.send(notice);
    expect(bus).toHaveReceivedCommandExactlyOnceWith(PutEventsCommand, {
      Entries: [{ Source: 'imds-rollout', DetailType: 'IMDS Rollout Succeeded', Detail: '{"rack":"demo"}' }],
    });
  });

  it.each([
    ['ThrottlingException', 'TransientError'],
    ['InternalFailure', 'TransientError'],
    ['MalformedDetail', 'InvalidError'],
    ['NotAuthorizedForSourceException', 'RolloutError'],
  ])('that were not taken are an error, though the call succeeded: %s', async (ErrorCode, name) => {
    bus
      .on(PutEventsCommand)
      .resolves({ FailedEntryCount: 1, Entries: [{ ErrorCode, ErrorMessage: 'words' }] });
    await expect(notices.send(notice)).rejects.toThrow(
      expect.objectContaining({ name, message: expect.stringContaining(`${ErrorCode}: words`) as string }),
    );
  });
});
