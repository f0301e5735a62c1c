/** Where a deployment is: what its CloudFormation stack says of itself (infra/outputs.yml). */
import { DescribeStacksCommand, type CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { z } from 'zod';
import { calling } from '../../adapters/aws-errors.ts';
import { CommandFailure } from '../failure.ts';

const list = z.string().transform((text) => text.split(',').filter((part) => part !== ''));
const prefix = z.string().regex(/^\/(?:[\w.-]+\/)+$/);

const outputsSchema = z.object({
  StateMachineArn: z.string(),
  ApproveFunction: z.string(),
  ReportBucket: z.string(),
  ParameterPrefix: prefix,
  RecordPrefix: prefix,
  /** Absent of a deployment that is older than this. */
  TokenPrefix: prefix.exactOptional(),
  Clusters: list,
  ReadingRoles: list,
  WritingRoles: list,
  /** Role by function; the same. */
  FunctionRoles: list
    .transform((pairs) => new Map(pairs.map((pair) => pair.split('=', 2) as [string, string])))
    .exactOptional(),
  /** The same. */
  InVpc: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .exactOptional(),
});
export type Outputs = z.infer<typeof outputsSchema>;

export interface Place {
  stack: string;
  region: string;
}

/** Throws a CommandFailure where there is no such stack, or one that is none of this version's. */
export async function readOutputs(client: CloudFormationClient, { stack, region }: Place): Promise<Outputs> {
  const { Stacks: [found] = [] } = await calling('cloudformation:DescribeStacks', stack, () =>
    client.send(new DescribeStacksCommand({ StackName: stack })),
  ).catch((error: unknown) => {
    // CloudFormation has no error of its own for it, only this sentence.
    if (error instanceof Error && error.message.includes('does not exist')) throw missing(stack, region);
    throw error;
  });
  if (found === undefined) throw missing(stack, region);
  const said = Object.fromEntries(
    (found.Outputs ?? []).map(({ OutputKey = '', OutputValue }) => [OutputKey, OutputValue]),
  );
  const { success, data, error } = outputsSchema.safeParse(said);
  if (success) return data;
  const wrong = [...new Set(error.issues.map(({ path }) => path.join('.')))];
  throw new CommandFailure(
    `stack ${stack} in ${region} (${found.StackStatus ?? 'in no known state'}) lacks the outputs ${wrong.join(', ')}\n` +
      'It is another stack, of another version, or not whole: give the deployment with --stack, or deploy again (docs/deploy.md)',
  );
}

const missing = (stack: string, region: string): CommandFailure =>
  new CommandFailure(
    `there is no stack ${stack} in ${region}\n` +
      'Look in another Region with --region, or for another name with --stack; docs/deploy.md says how to deploy',
  );
