/** What the account has of the service, by kind: everything that the stack makes, and what the service keeps. */
import { z } from 'zod';
import type { Ministack } from './ministack.ts';

/** Arguments of the AWS CLI that list names, and a query that leaves nothing but them. */
const lists = {
  functions: ['lambda', 'list-functions', '--query', 'Functions[].FunctionName'],
  stateMachines: ['stepfunctions', 'list-state-machines', '--query', 'stateMachines[].name'],
  rules: ['events', 'list-rules', '--query', 'Rules[].Name'],
  roles: ['iam', 'list-roles', '--query', 'Roles[].RoleName'],
  queues: ['sqs', 'list-queues', '--query', 'QueueUrls'],
  topics: ['sns', 'list-topics', '--query', 'Topics[].TopicArn'],
  logGroups: ['logs', 'describe-log-groups', '--query', 'logGroups[].logGroupName'],
  dashboards: ['cloudwatch', 'list-dashboards', '--query', 'DashboardEntries[].DashboardName'],
  buckets: ['s3api', 'list-buckets', '--query', 'Buckets[].Name'],
  parameters: ['ssm', 'describe-parameters', '--query', 'Parameters[].Name'],
} as const;

type Inventory = Record<keyof typeof lists, string[]>;

/** Where there is none of a kind, the CLI answers with null or with nothing. */
const names = z
  .array(z.string())
  .nullish()
  .transform((found) => (found ?? []).toSorted());

export async function inventory(ministack: Ministack): Promise<Inventory> {
  const found = await Promise.all(
    Object.entries(lists).map(
      async ([kind, list]) => [kind, names.parse(await ministack.aws(...list))] as const,
    ),
  );
  return Object.fromEntries(found) as Inventory;
}

/** Whether a bucket refuses whoever speaks to it without TLS. */
export async function demandsTls(ministack: Ministack, bucket: string): Promise<boolean> {
  const { Policy } = z
    .object({ Policy: z.string() })
    .parse(await ministack.aws('s3api', 'get-bucket-policy', '--bucket', bucket));
  return Policy.includes('"aws:SecureTransport"');
}
