/** Each function's role against what its code calls: nothing less, nothing more, on nothing else. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { wantedBy } from '../../cli/doctor/permission-checks.ts';
import { scan } from '../../scripts/permissions/scan.ts';
import { functionsOf, Template, type DeployedFunction } from './template.ts';

const list = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const statementSchema = z.strictObject({
  Effect: z.enum(['Allow', 'Deny']),
  Action: list,
  Resource: list,
  Condition: z.unknown().optional(),
  Sid: z.string().optional(),
});
type Statement = z.infer<typeof statementSchema>;
const policySchema = z.object({ PolicyDocument: z.object({ Statement: z.array(statementSchema) }) });

function statementsOf(template: Template, role: string): Statement[] {
  const id = role.split('/').at(-1) ?? '';
  const properties = template.ofType('AWS::IAM::Role').get(id);
  return z
    .array(policySchema)
    .parse(properties?.['Policies'])
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

const template = new Template();
const calls = scan();
const functions = functionsOf(template);
const named = [...functions];

/** What Lambda does as the function's role. */
const ofLambda = (deployed: DeployedFunction): string[] => [
  'logs:CreateLogStream',
  'logs:PutLogEvents',
  'xray:PutTelemetryRecords',
  'xray:PutTraceSegments',
  ...(template.ofType('AWS::Lambda::EventInvokeConfig').has(`${deployed.id.replace(/Function$/, '')}EvConf`)
    ? ['sqs:SendMessage']
    : []),
];

const here = 'eu-central-1:123456789012';
const parameters = `arn:aws:ssm:${here}:parameter/racks/*`;
const machine = 'imds-rollout';

/** On what each action is allowed; a function that itself is meant stands for `<name>`. */
const resources: Record<string, string[]> = {
  'cloudwatch:GetMetricData': ['*'],
  'ec2:DescribeInstances': ['*'],
  'ec2:GetInstanceMetadataDefaults': ['*'],
  'ec2:ModifyInstanceMetadataOptions': [`arn:aws:ec2:${here}:instance/*`],
  'eks:DescribeCluster': [`arn:aws:eks:${here}:cluster/*`],
  'events:PutEvents': [`arn:aws:events:${here}:event-bus/default`],
  'logs:CreateLogStream': [`arn:aws:logs:${here}:log-group:/aws/lambda/<name>:*`],
  'logs:PutLogEvents': [`arn:aws:logs:${here}:log-group:/aws/lambda/<name>:*`],
  's3:GetObject': ['arn:aws:s3:::reportbucket/*'],
  's3:ListBucket': ['arn:aws:s3:::reportbucket'],
  's3:PutObject': ['arn:aws:s3:::reportbucket/*'],
  'sqs:SendMessage': [`arn:aws:sqs:${here}:DeadLetters`],
  'ssm:GetParameter': [`arn:aws:ssm:${here}:parameter/imds-rollout/racks/*/record`],
  'ssm:GetParameterHistory': [parameters],
  'ssm:GetParametersByPath': [
    `arn:aws:ssm:${here}:parameter/imds-rollout/racks`,
    `arn:aws:ssm:${here}:parameter/imds-rollout/racks/*`,
    parameters,
  ],
  'ssm:PutParameter': [`arn:aws:ssm:${here}:parameter/imds-rollout/racks/*/record`],
  'states:DescribeExecution': [`arn:aws:states:${here}:execution:${machine}:*`],
  'states:GetExecutionHistory': [`arn:aws:states:${here}:execution:${machine}:*`],
  'states:ListExecutions': [`arn:aws:states:${here}:stateMachine:${machine}`],
  'states:SendTaskSuccess': [`arn:aws:states:${here}:stateMachine:${machine}`],
  'states:StartExecution': [`arn:aws:states:${here}:stateMachine:${machine}`],
  'xray:PutTelemetryRecords': ['*'],
  'xray:PutTraceSegments': ['*'],
};

const memory = (what: string): string => `arn:aws:ssm:${here}:parameter/imds-rollout/racks/*/${what}`;

const tokens = `arn:aws:ssm:${here}:parameter/imds-rollout/approval-tokens/*`;

/** Where a function has to do with approvals: of the token of a wait only `approve` knows. */
const ofApproval: Record<string, Record<string, string[]>> = {
  plan: { 'ssm:GetParameter': [memory('record'), memory('approval')] },
  reconcile: { 'ssm:GetParameter': [memory('record'), memory('approval')] },
  approve: {
    'ssm:GetParameter': [memory('registration'), memory('approval'), memory('approval-token'), tokens],
    'ssm:PutParameter': [memory('approval'), tokens],
    'ssm:DeleteParameter': [memory('approval-token'), tokens],
  },
};

test('every function is deployed', () => {
  expect([...functions.keys()].sort()).toEqual([...calls.keys()].sort());
});

test('no two functions share a role', () => {
  expect(new Set(named.map(([, { Role }]) => Role)).size).toBe(named.length);
});

describe.each(named)('%s', (name, deployed) => {
  const statements = statementsOf(template, deployed.Role);

  test('may do what it calls, and what Lambda does for it, and nothing else', () => {
    const allowed = new Set(statements.flatMap(({ Action }) => Action));
    const needed = new Set([...(calls.get(name)?.actions ?? []), ...ofLambda(deployed)]);
    expect([...allowed].sort()).toEqual([...needed].sort());
    expect(statements.every(({ Effect }) => Effect === 'Allow')).toBe(true);
  });

  test('on nothing else than what is the service’s', () => {
    const grouped = Map.groupBy(
      statements.flatMap(({ Action, Resource }) =>
        Action.flatMap((action) => Resource.map((resource) => ({ action, resource }))),
      ),
      ({ action }) => action,
    );
    for (const [action, each] of grouped) {
      const on = ofApproval[name]?.[action] ?? resources[action];
      const expected = on?.map((arn) => arn.replace('<name>', deployed.FunctionName));
      expect([...new Set(each.map(({ resource }) => resource))].sort(), action).toEqual(expected?.sort());
    }
  });

  test('is in the VPC, with what Lambda needs for it, only where it calls a cluster', () => {
    const there = new Template({ isInVpc: true });
    const isInVpc = functionsOf(there).get(name)?.VpcConfig !== undefined;
    expect(isInVpc).toBe(calls.get(name)?.cluster !== 'nothing');
    const interfaces = statementsOf(there, deployed.Role).filter(({ Action }) =>
      Action.includes('ec2:CreateNetworkInterface'),
    );
    // Lambda may, the function's own code may not.
    expect(interfaces.map(({ Effect }) => Effect)).toEqual(isInVpc ? ['Allow', 'Deny'] : []);
    expect(interfaces.at(1)?.Action).toEqual(interfaces.at(0)?.Action);
  });
});

test('doctor asks about what the roles allow, of each function', () => {
  const list = (name: string): string[] => template.output(name).split(',');
  const roles = new Map(list('FunctionRoles').map((pair) => pair.split('=', 2) as [string, string]));
  expect([...roles].sort()).toEqual(named.map(([name, { Role }]) => [name, Role]).sort());
  const outputs = {
    StateMachineArn: template.output('StateMachineArn'),
    ApproveFunction: template.output('ApproveFunction'),
    ReportBucket: template.output('ReportBucket'),
    ParameterPrefix: template.output('ParameterPrefix'),
    RecordPrefix: template.output('RecordPrefix'),
    TokenPrefix: template.output('TokenPrefix'),
    Clusters: list('Clusters'),
    ReadingRoles: list('ReadingRoles'),
    WritingRoles: list('WritingRoles'),
  };
  const matches = (pattern: string, resource: string): boolean =>
    new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*')}$`).test(
      resource,
    );
  for (const [name, { Role }] of named) {
    const statements = statementsOf(template, Role);
    const asked = wantedBy(name, [...(calls.get(name)?.actions ?? [])], outputs).flatMap(
      ({ actions, resource }) => actions.map((action) => ({ action, resource })),
    );
    const notAllowed = asked.filter(
      ({ action, resource }) =>
        !statements.some(
          ({ Action, Resource }) =>
            Action.includes(action) && Resource.some((pattern) => matches(pattern, resource)),
        ),
    );
    expect(notAllowed, name).toEqual([]);
    expect(new Set(asked.map(({ action }) => action))).toEqual(calls.get(name)?.actions);
  }
});

test('only instances that Karpenter launched for the clusters that are named may be modified', () => {
  const role = functions.get('modify-stragglers')?.Role ?? '';
  const modifying = statementsOf(new Template({ clusters: ['one', 'two'] }), role).filter(({ Action }) =>
    Action.includes('ec2:ModifyInstanceMetadataOptions'),
  );
  expect(modifying.map(({ Condition }) => Condition)).toEqual([
    {
      StringLike: { 'aws:ResourceTag/eks:eks-cluster-name': ['one', 'two'] },
      Null: { 'aws:ResourceTag/karpenter.sh/nodepool': 'false' },
    },
  ]);
});

test('a call may send events of the service and no others beside them', () => {
  const sending = named.flatMap(([, { Role }]) =>
    statementsOf(template, Role).filter(({ Action }) => Action.includes('events:PutEvents')),
  );
  expect(sending.length).toBeGreaterThan(0);
  for (const { Condition } of sending) {
    expect(Condition).toEqual({
      'ForAllValues:StringEquals': { 'events:source': 'imds-rollout' },
      Null: { 'events:source': 'false' },
    });
  }
});

test('nobody but approve may read where the tokens of waits are, also not by path', () => {
  const [place] = tokens.split('*');
  const readers = named.filter(([, { Role }]) =>
    statementsOf(template, Role).some(
      ({ Effect, Action, Resource }) =>
        Effect === 'Allow' &&
        Action.some((action) => action.startsWith('ssm:')) &&
        Resource.some((pattern) => place?.startsWith(pattern.replace(/\*.*$/, '')) === true),
    ),
  );
  expect(readers.map(([name]) => name)).toEqual(['approve']);
});

test('the workflow may call its tasks and no other function', () => {
  const invoking = statementsOf(template, 'RolloutStateMachineRole').filter(({ Action }) =>
    Action.includes('lambda:InvokeFunction'),
  );
  const [machineProperties] = template.ofType('AWS::StepFunctions::StateMachine').values();
  expect(invoking.flatMap(({ Resource }) => Resource).sort()).toEqual(
    Object.values(machineProperties?.['DefinitionSubstitutions'] as Record<string, string>).sort(),
  );
});

test.each([
  ['ReadingRoles', 'reads'],
  ['WritingRoles', 'writes'],
])('the output %s names the roles that need such an access entry', (output, use) => {
  const roles = named.filter(([name]) => calls.get(name)?.cluster === use).map(([, { Role }]) => Role);
  expect(template.output(output).split(',').sort()).toEqual(roles.sort());
});
