/** The command as a child process on moto's account: what it writes there, what it refuses, what it cannot find. */
import { CloudFormationClient, CreateStackCommand, DeleteStackCommand } from '@aws-sdk/client-cloudformation';
import { CreateBucketCommand, DeleteBucketCommand, DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateStateMachineCommand, SFNClient } from '@aws-sdk/client-sfn';
import { GetParametersByPathCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { awsClient } from '../../adapters/aws-client.ts';
import { createRecords } from '../../adapters/records.ts';
import { createReports } from '../../adapters/reports.ts';
import { createStore } from '../../cli/account/store.ts';
import { emptyRecord } from '../../rollout/record.ts';
import { command, type Ended } from '../cli/command.ts';

const id = randomUUID().slice(0, 8);
const stack = `imds-rollout-${id}`;
const bucket = `reports-${id}`;
const parameters = `/racks-${id}/`;
const recordPrefix = `/imds-rollout-${id}/racks/`;
const tokenPrefix = `/imds-rollout-${id}/approval-tokens/`;
const connection = () => ({ ...awsClient(), endpoint: inject('moto') });
const rackReport = 'demo/2026/03/02/demo-1.json';

const environment = (): Record<string, string> => ({
  AWS_ENDPOINT_URL: inject('moto'),
  // Nothing of whoever runs this.
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
});

const run = (...args: string[]): Ended => command([...args, '--stack', stack], environment());

async function stored(): Promise<Record<string, string>> {
  const { Parameters = [] } = await new SSMClient(connection()).send(
    new GetParametersByPathCommand({ Path: `${parameters}demo`, Recursive: true }),
  );
  return Object.fromEntries(
    Parameters.map(({ Name = '', Value = '', Type = '' }) => [
      Name.slice(`${parameters}demo/`.length),
      Type === 'String' ? Value : `${Type} ${Value}`,
    ]),
  );
}

beforeAll(async () => {
  const sfn = new SFNClient(connection());
  const { stateMachineArn = '' } = await sfn.send(
    new CreateStateMachineCommand({
      name: stack,
      roleArn: 'arn:aws:iam::123456789012:role/states',
      definition: JSON.stringify({
        StartAt: 'Wait',
        States: { Wait: { Type: 'Wait', Seconds: 600, End: true } },
      }),
    }),
  );
  await new S3Client(connection()).send(
    new CreateBucketCommand({
      Bucket: bucket,
      CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' },
    }),
  );
  const outputs = {
    ApproveFunction: 'imds-rollout-approve',
    StateMachineArn: stateMachineArn,
    ReportBucket: bucket,
    ParameterPrefix: parameters,
    RecordPrefix: recordPrefix,
    TokenPrefix: tokenPrefix,
    Clusters: '*',
    ReadingRoles: 'arn:aws:iam::123456789012:role/reads',
    WritingRoles: 'arn:aws:iam::123456789012:role/writes',
  };
  // Without the product's time limits: moto's first stack takes its time, and a second attempt finds the stack there.
  await new CloudFormationClient({ endpoint: inject('moto') }).send(
    new CreateStackCommand({
      StackName: stack,
      TemplateBody: JSON.stringify({
        Resources: {
          Any: {
            Type: 'AWS::SSM::Parameter',
            Properties: { Name: `/any-${id}`, Type: 'String', Value: 'x' },
          },
        },
        Outputs: Object.fromEntries(Object.entries(outputs).map(([name, Value]) => [name, { Value }])),
      }),
    }),
  );
});

afterAll(async () => {
  await new CloudFormationClient(connection()).send(new DeleteStackCommand({ StackName: stack }));
});

describe('an account', () => {
  it('without such a stack: says where it looked', () => {
    expect(command(['rack', 'list', '--region', 'us-east-2', '--stack', stack], environment())).toEqual({
      status: 1,
      stdout: '',
      stderr: `there is no stack ${stack} in us-east-2\nLook in another Region with --region, or for another name with --stack; docs/deploy.md says how to deploy\n`,
    });
  });

  it('without credentials', () => {
    const { status, stderr } = command(['rack', 'list', '--stack', stack], {
      ...environment(),
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^there are no AWS credentials: .+\nSign in .+\n$/);
  });

  it('without a rack', () => {
    expect(run('rack', 'list')).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringMatching(/^no rack is registered with stack /) as string,
    });
    expect(run('params', 'list')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^no rack is registered .*\nRegister one: imds-rollout rack add /,
      ) as string,
    });
  });

  it('without the cluster: nothing is registered', () => {
    expect(run('rack', 'add', 'demo', '--cluster', 'none')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^there is no cluster none in eu-west-1\n/) as string,
    });
    expect(run('rack', 'list', '--json').stdout).toBe('[]\n');
  });
});

describe('params', () => {
  it('writes Strings, says what it wrote and what it means, and deletes', async () => {
    const set = run('params', 'set', 'imds_http_tokens=required', 'karpenter_enabled=true', '-r', 'demo');
    expect(set).toMatchObject({
      status: 0,
      stderr:
        'Whether a rollout of it would be accepted cannot be told: rack demo is not registered: nothing is rolled out until it is\n',
    });
    expect(set.stdout).toMatch(/^Written on rack demo:\n/);
    expect(set.stdout).toMatch(/^imds_http_tokens +\(not set\) +required$/m);
    expect(set.stdout).toContain('The rack asks for nothing yet: build_node_enabled is not exactly "true".');
    expect(await stored()).toEqual({ imds_http_tokens: 'required', karpenter_enabled: 'true' });
    expect(run('params', 'get', 'imds_http_tokens', '-r', 'demo').stdout).toBe('required\n');
    // moto knows nobody by name.
    expect(run('params', 'history', 'imds_http_tokens', '-r', 'demo').stdout).toMatch(
      /^1 +required +\S+Z +N\/A$/m,
    );
    run('params', 'set', 'imds_http_tokens=', 'build_node_enabled=true', '-r', 'demo');
    expect(await stored()).toEqual({ karpenter_enabled: 'true', build_node_enabled: 'true' });
    expect(run('params', 'unset', 'build_node_enabled', 'release', '-r', 'demo')).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^release is not set: there is nothing to delete\n/) as string,
    });
    expect(await stored()).toEqual({ karpenter_enabled: 'true' });
  });

  it('writes nothing of what it refuses in part', async () => {
    const before = await stored();
    expect(run('params', 'set', 'imds_http_hop_limit=2', 'imds_http_tokens=Required', '-r', 'demo')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'imds_http_tokens is "Required"; accepted is `optional` or `required`; did you mean `required`?\n',
    });
    expect(await stored()).toEqual(before);
  });

  it('does not try to change the type of a parameter', async () => {
    const Name = `${parameters}demo/imds_http_hop_limit`;
    await new SSMClient(connection()).send(
      new PutParameterCommand({ Name, Value: '2', Type: 'SecureString' }),
    );
    expect(run('params', 'set', 'imds_http_hop_limit=1', '-r', 'demo')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'imds_http_hop_limit is stored as a SecureString, whose type Parameter Store never changes\nUnset it, wait 30 seconds, and set it again\n',
    });
    expect(run('params', 'unset', 'imds_http_hop_limit', '-r', 'demo').status).toBe(0);
  });
});

describe('a registered rack', () => {
  const body = JSON.stringify({
    schemaVersion: 1,
    rack: 'demo',
    cluster: 'none',
    execution: 'demo-1',
    asked: [],
    generation: null,
    plan: null,
    approval: null,
    class: null,
    instances: [],
    builds: [],
    holds: [],
    blockers: [],
    stragglers: [],
    unknowns: [],
    calls: {},
    cost: { stateTransitions: 0, usd: 0 },
    outcome: 'Failed',
    reason: 'still wrong',
    timeline: [],
  });

  beforeAll(async () => {
    const ssm = new SSMClient(connection());
    await createStore(ssm, {
      ParameterPrefix: parameters,
      RecordPrefix: recordPrefix,
      TokenPrefix: tokenPrefix,
    }).register({
      rack: 'demo',
      cluster: 'none',
      nodePool: 'build',
    });
    await createRecords(ssm, recordPrefix).write('demo', {
      ...emptyRecord,
      last: {
        outcome: 'Failed',
        reason: 'still wrong',
        execution: 'demo-1',
        endedAt: '2026-03-02T09:00:00.000Z',
        parameters: {},
        report: { key: rackReport, sha256: createHash('sha256').update(body).digest('hex') },
      },
    });
    await createReports(new S3Client(connection()), bucket).put(rackReport, body, 'application/json');
  });

  it('is listed, and chosen where it is the only one', () => {
    expect(run('rack', 'list').stdout).toMatch(
      /^demo +none +build +Failed +2026-03-02T09:00:00.000Z +none$/m,
    );
    expect(run('params', 'get', 'karpenter_enabled')).toMatchObject({ status: 0, stdout: 'true\n' });
  });

  it('is watched to how it ended', () => {
    expect(run('watch')).toEqual({ status: 1, stdout: 'demo-1: Failed: still wrong\n', stderr: '' });
  });

  it('is asked for a cluster that is gone', () => {
    expect(run('status')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^eks:DescribeCluster of none: ResourceNotFoundException: .+\n.+doctor.+\n$/,
      ) as string,
    });
    const doctor = run('doctor', '-r', 'demo');
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toMatch(/^ok {6}credentials: arn:aws:/m);
    expect(doctor.stdout).toMatch(
      /^problem cluster: there is no cluster none in eu-west-1\n {8}→ Remove the rack/m,
    );
  });

  it('has a report that is verified, byte for byte', async () => {
    const verified = run('report', '--verify');
    expect(verified).toMatchObject({ status: 0, stderr: '' });
    expect(verified.stdout).toMatch(/^demo-1: unchanged: SHA-256 [0-9a-f]{64}, as in the record$/m);
    const reports = createReports(new S3Client(connection()), bucket);
    await reports.put(rackReport, `${body}\n`, 'application/json');
    expect(run('report', '--verify')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('CHANGED') as string,
    });
    expect(run('report', '--execution', 'demo-2').stderr).toBe(
      'there is no report of demo-2; there is demo-1\n',
    );
  });

  it('is retried, once at a time', () => {
    const first = run('retry', '--json');
    expect(JSON.parse(first.stdout)).toMatchObject({
      execution: expect.stringMatching(/^demo-\d+$/) as string,
      after: 'Failed',
    });
    expect(run('retry')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^rollout demo-\d+ of rack demo is running: .+\nFollow it: /) as string,
    });
    expect(run('rack', 'remove', 'demo', '--keep').stderr).toMatch(
      /^rollout demo-\d+ of rack demo is running\n/,
    );
  });

  it('has no reports any more where the bucket is gone', async () => {
    const s3 = new S3Client(connection());
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: rackReport }));
    await s3.send(new DeleteBucketCommand({ Bucket: bucket }));
    expect(run('report')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/NoSuchBucket.*\nThe bucket of reports is gone: deploy again/) as string,
    });
  });
});
