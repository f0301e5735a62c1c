/** The bucket of reports. */
import { GetObjectCommand, paginateListObjectsV2, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { NotFoundError } from '../rollout/errors.ts';
import type { Reports } from '../rollout/ports.ts';
import { calling } from './aws-errors.ts';

export function createReports(client: S3Client, bucket: string): Reports {
  return {
    put: async (key, body, contentType) => {
      await calling('s3:PutObject', `${bucket}/${key}`, () =>
        client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentType: contentType })),
      );
    },
    get: async (key) => {
      try {
        return await calling('s3:GetObject', `${bucket}/${key}`, async () => {
          const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
          return Body?.transformToString();
        });
      } catch (error) {
        // NoSuchKey. Only a role that may s3:ListBucket is told so; any other hears AccessDenied.
        if (error instanceof NotFoundError && named(error.cause, 'NoSuchKey')) return undefined;
        throw error;
      }
    },
    list: (prefix) =>
      calling('s3:ListBucket', `${bucket}/${prefix}`, async () => {
        const keys: string[] = [];
        for await (const { Contents = [] } of paginateListObjectsV2(
          { client },
          { Bucket: bucket, Prefix: prefix },
        )) {
          for (const { Key } of Contents) if (Key !== undefined) keys.push(Key);
        }
        return keys.sort();
      }),
  };
}

const named = (error: unknown, name: string): boolean => error instanceof Error && error.name === name;
